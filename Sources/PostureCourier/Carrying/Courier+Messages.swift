import Posture
import PosturePlatform
import PostureMQTT
import PostureTokens

extension Courier {
  private var name: Name { enrolment.device.name }

  func receive(_ message: Message) {
    guard let topic = Topic(message.topic), topic.site == enrolment.device.site else {
      return counters.count(.strayMessages)
    }
    switch topic.place {
    case .recheckDevice(name), .recheckGroup, .recheckAll: receiveCommand(message, topic)
    case .trust: receiveDocument(message)
    case .policy: receiveDocument(message)
    case .groupPolicy(let group) where enrolment.bundle.groups.contains(group): receiveDocument(message)
    case .presence(name): receivePresence(message)
    case .renewal(name): receiveRenewal(message)
    default: counters.count(.strayMessages)
    }
  }

  // MARK: Commands

  private func receiveCommand(_ message: Message, _ topic: Topic) {
    // A command that the broker had kept is one that was given some other time.
    guard !message.retained else { return counters.count(.retainedCommands) }
    set(.tell, 2_000)
    let moment = moment
    let command: DeviceVerifier.Command
    do throws(TokenError) { command = try verifier.command(message.payload, on: topic, at: moment) } catch {
      counters.count(.invalidCommands)
      return log.say(.info, "command", "a command is not obeyed: \(error)")
    }
    switch gate.judge(command, challenge: presence?.connection, at: moment, now, load: planner.load) {
    case .obey(let order): obey(order)
    case .refuse(let code): refuse(command.claims.id, command.kid, code)
    case .ignore(.replayed): counters.count(.replayed)
    case .ignore(.refusalsExhausted): counters.count(.unrefused)
    }
  }

  private func obey(_ order: Gate.Order) {
    counters.count(.obeyed)
    set(.forget, 60_000)
    report(order.command, order.start > now ? .waiting : .accepted)
    perform(planner.handle(.order(order), at: now, wall: Clock.wall))
    // The attester is at work meanwhile. Nothing that it says leaves the device before this thread goes on.
    keepMemory()
  }

  /// Written before the command is answered. Where it cannot be, it is answered all the same: it only looks, and a device
  /// with a full disk should still answer.
  private func keepMemory() {
    do throws(SystemError) { try AtomicFile.write(gate.memory.json.bytes, to: enrolment.memoryFile) } catch {
      lastError = "\(error)"
      log.say(.error, "memory", "commands cannot be remembered over a restart: \(error)")
    }
  }

  static func memory(_ enrolment: Enrolment, _ log: Log) -> CommandMemory {
    do {
      let bytes = try AtomicFile.read(enrolment.memoryFile)
      let json = try JSONParser.parse(bytes, limits: JSONParser.Limits(bytes: 1 << 20, depth: 4))
      if let memory = CommandMemory(json: json, Clock.monotonicMilliseconds) { return memory }
      log.say(.error, "memory", "\(enrolment.memoryFile): not readable, begun anew")
    } catch let error as SystemError where error.isMissing {
    } catch { log.say(.error, "memory", "\(enrolment.memoryFile): \(error), begun anew") }
    return CommandMemory()
  }

  func refuse(_ command: String, _ controller: String, _ code: RefusalCode) {
    counters.count(.refused)
    log.say(.info, "refusal", "a command is refused: \(code.rawValue)")
    quick.ask(.refusal(command: command, controller: controller, code: code)) { [unowned self] answer in
      reply(.refusal, answer)
    }
  }

  /// A signed line on how far a command has come; nothing waits for it.
  func report(_ command: String, _ state: ProgressState) {
    guard isOnline else { return }
    quick.ask(.progress(command: command, state: state)) { [unowned self] answer in reply(.progress, answer) }
  }

  private func reply(_ kind: TokenKind, _ answer: AttesterChannel.Answer) {
    guard case .success(.token(let token)) = answer else { return attesterFailed(kind.rawValue, answer) }
    publish(Letter(topic: topic(.reply(name)), kind: kind, token: token))
  }

  // MARK: Documents

  private func receiveDocument(_ message: Message) {
    guard documentRate.takeNow(now), message.payload.count <= TokenKind.largestSize, !message.payload.isEmpty else {
      return counters.count(.refusedDocuments)
    }
    guard documents[message.topic] != message.payload else { return }
    if message.topic == topic(.trust).text, !acceptTrust(message.payload) { return }
    documents[message.topic] = message.payload
    handDocuments()
  }

  /// The courier needs it for the gate; the attester verifies it by itself.
  private func acceptTrust(_ bytes: [UInt8]) -> Bool {
    do throws(TokenError) {
      guard try verifier.trust.accept(bytes, at: moment) == .accepted else { return true }
    } catch {
      counters.count(.refusedDocuments)
      lastError = "trust document: \(error)"
      log.say(.warning, "trust", "trust document: \(error)")
      return false
    }
    log.say(.notice, "trust", "trust document \(verifier.trust.floor) in force")
    do throws(SystemError) { try AtomicFile.write(verifier.trust.saved.bytes, to: enrolment.trustFile) } catch {
      lastError = "\(error)"
      log.say(.error, "trust", "\(error)")
    }
    // A policy may have waited for its signer.
    handed = [:]
    considerRenewal()
    return true
  }

  /// Trust before the policies that rely on it.
  func handDocuments() {
    let trust = topic(.trust).text
    for (topic, bytes) in documents.sorted(by: { $0.key == trust || ($1.key != trust && $0.key < $1.key) })
    where handed[topic] != bytes {
      hand(topic, bytes, isTrust: topic == trust)
    }
  }

  private func hand(_ topic: String, _ bytes: [UInt8], isTrust: Bool) {
    guard let token = String(validating: bytes, as: UTF8.self) else { return counters.count(.refusedDocuments) }
    handed[topic] = bytes
    quick.ask(isTrust ? .trust(token: token) : .policy(token: token)) { [unowned self] answer in
      switch answer {
      case .success(.done): if !isTrust { want(.policy) }
      case .success(.failed(let code, let why)):
        counters.count(.refusedDocuments)
        lastError = "\(topic) refused: \(code.rawValue)"
        log.say(.warning, "document", "the attester refuses \(topic): \(code.rawValue): \(why)")
      default: attesterFailed("document", answer)
      }
    }
  }
}
