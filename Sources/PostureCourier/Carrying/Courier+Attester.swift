import Posture
import PosturePlatform
import PostureMQTT
import PostureTokens

extension Courier {
  private var name: Name { enrolment.device.name }

  /// An answer that is none of those expected.
  func attesterFailed(_ what: String, _ answer: AttesterChannel.Answer) {
    counters.count(.attesterLosses)
    switch answer {
    case .success(.failed(let code, let why)): lastError = "attester: \(what): \(code.rawValue): \(why)"
    case .success: lastError = "attester: \(what): an answer of another kind"
    case .failure(let loss):
      lastError = "\(loss) (\(what))"
      // Whoever takes its place has not been handed anything.
      handed = [:]
      set(.documents, 5_000)
    }
    log.say(.warning, "attester", lastError ?? "attester")
    set(.tell, 5_000)
  }

  // MARK: Reports

  func perform(_ actions: [Planner.Action]) {
    for action in actions {
      switch action {
      case .ask(let nonces, let cause): askForReport(nonces, cause)
      case .began(let order): report(order.command, .running)
      case .abandoned(let order): refuse(order.command, order.controller, .busy)
      }
    }
  }

  /// Milliseconds after which an attester that owes a report is asked whether it is still there.
  private static let doubt: Int64 = 5_000

  /// Until the report is there.
  func listenToAttester() {
    tellAttester()
    set(.listen, Self.doubt)
  }

  private func askForReport(_ nonces: [String], _ cause: ReportCause) {
    set(.listen, Self.doubt)
    reports.ask(.report(nonces: nonces, cause: cause)) { [unowned self] answer in
      cancel(.listen)
      if case .success(.token(let token)) = answer {
        lastReport = token
        publishReport(token)
        if !nonces.isEmpty { publish(Letter(topic: topic(.reply(name)), kind: .report, token: token)) }
        perform(planner.handle(.finished(true), at: now, wall: Clock.wall))
        perform(pump.handle(.poke, at: now))
      } else {
        attesterFailed("report", answer)
        show("attester: no report")
        perform(planner.handle(.finished(false), at: now, wall: Clock.wall))
      }
      set(.tell, 1_000)
      set(.rest, 5_000)
    }
  }

  func publishReport(_ token: String) {
    guard isOnline, let client else { return }
    counters.count(.reports)
    client.publish(Letter(topic: topic(.report(name)), kind: .report, token: token).publication())
  }

  // MARK: Events

  func perform(_ actions: [EventPump.Action]) {
    for action in actions {
      switch action {
      case .pull(let after, let limit): pull(after, limit)
      case .publish(let event): publish(event)
      case .acknowledge(let chain, let eseq): acknowledge(chain, eseq)
      case .refused(let reason):
        lastError = "the broker refuses events: \(reason)"
        log.say(.warning, "event", "the broker refuses events: \(reason)")
      }
    }
  }

  private func feed(_ event: EventPump.Event) { perform(pump.handle(event, at: now)) }

  private func pull(_ after: Int64, _ limit: Int) {
    quick.ask(.events(after: after, limit: limit)) { [unowned self] answer in
      if case .success(.events(let chain, let events)) = answer {
        eventRow += 1
        feed(.pulled(chain: chain, events))
      } else {
        attesterFailed("events", answer)
        feed(.pullFailed)
      }
    }
  }

  private func publish(_ event: AttesterAnswer.NumberedToken) {
    guard let client else { return feed(.published(eseq: event.eseq, .lost)) }
    let letter = Letter(topic: topic(.event(name)), kind: .event, token: event.token)
    var publication = letter.publication()
    publication.row = eventRow
    let ticket = client.publish(publication)
    eventTickets[ticket] = event.eseq
  }

  /// What became of a message.
  func completed(_ ticket: Session.Ticket, _ outcome: Session.Outcome) {
    if let eseq = eventTickets.removeValue(forKey: ticket) {
      if outcome == .taken { counters.count(.events) }
      return feed(.published(eseq: eseq, outcome))
    }
    if case .refused(let reason) = outcome {
      lastError = "the broker refuses a message: \(reason)"
      log.say(.warning, "publish", "the broker refuses a message: \(reason)")
    }
  }

  private func acknowledge(_ chain: String, _ eseq: Int64) {
    quick.ask(.acknowledge(chain: chain, eseq: eseq)) { [unowned self] answer in
      if case .success(.done) = answer {
        feed(.acknowledged(true))
      } else {
        attesterFailed("acknowledge", answer)
        feed(.acknowledged(false))
      }
    }
  }

  // MARK: Changes

  /// No attester has counted to this: asked with it, it answers at once.
  private static let anyChange = Int64.max

  func watchForChanges() {
    watch.ask(.watch(after: seenChanges)) { [unowned self] answer in
      guard case .success(.changed(let number, _)) = answer else {
        attesterFailed("watch", answer)
        // Another attester counts from the beginning, and watches nothing until it has looked: what happened meanwhile is
        // looked at whatever it has counted.
        seenChanges = Self.anyChange
        return set(.watch, 2_000)
      }
      if number != seenChanges {
        seenChanges = number
        want(.change)
      }
      watchForChanges()
    }
  }

  // MARK: Status

  /// What we say of ourselves, for `posture-agent status`. An attester that has no answer to that examines nothing
  /// either: whatever else it owes is not waited for.
  func tellAttester() {
    quick.ask(.courier(status)) { [unowned self] answer in
      guard case .failure(.silent) = answer else { return }
      for channel in [reports, watch] { channel.giveUp(.silent) }
    }
  }

  private var status: JSON {
    .build { object in
      object("connected", .bool(isOnline))
      object("since", onlineSince.map(JSON.integer) ?? .null)
      object("broker", .string(brokerName))
      object("lastError", .text(lastError))
      object("clockTrusted", .bool(moment.isTrusted))
      object("trustVersion", .integer(verifier.trust.floor))
      object("counters", counters.json)
    }
  }

  private var brokerName: String {
    let broker = configuration.broker ?? enrolment.bundle.broker
    return "\(broker.host):\(broker.port)"
  }
}
