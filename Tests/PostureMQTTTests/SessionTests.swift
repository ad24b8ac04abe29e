import TestKit
import Testing

@testable import PostureMQTT

struct SessionTests {
  private func connected(_ settings: Session.Settings = Session.Settings(), at now: Int64 = 0) -> Session {
    var session = Session(settings, seed: 7)
    #expect(session.handle(.start, at: now) == [.connect(.v5)])
    let connack = Session.Connack(ReasonCode(0), .v5)
    #expect(session.handle(.connack(connack), at: now) == [.online(connack)])
    return session
  }

  private func wait(in actions: [Session.Action]) -> Int64? {
    for case .offline(_, let delay) in actions { return delay }
    return nil
  }

  @Test(arguments: 0...255)
  func `every CONNACK leads to another attempt`(_ code: UInt8) {
    for version in [ProtocolVersion.v5, .v311] {
      var session = Session(Session.Settings(), seed: UInt64(code))
      _ = session.handle(.start, at: 0)
      let actions = session.handle(.connack(.init(ReasonCode(code), version)), at: 0)
      if code == 0 {
        #expect(session.isOnline)
      } else {
        #expect(actions.first == .close)
        let delay = wait(in: actions)
        #expect(delay != nil)
        #expect(session.handle(.time, at: delay ?? 0).contains { if case .connect = $0 { true } else { false } })
      }
    }
  }

  @Test(arguments: 0...255)
  func `every DISCONNECT leads to another attempt within a quarter of an hour`(_ code: UInt8) throws {
    var session = connected()
    let actions = session.handle(.lost(Loss(.disconnected(ReasonCode(code)))), at: 1)
    let delay = try #require(wait(in: actions))
    #expect(delay <= 900_000)
    #expect(!session.handle(.time, at: 1 + delay).isEmpty)
  }

  @Test func `what somebody has to put right is not tried again at once`() throws {
    for code: UInt8 in [133, 134, 135, 138, 140] {
      var session = Session(Session.Settings(), seed: 3)
      _ = session.handle(.start, at: 0)
      let delay = try #require(wait(in: session.handle(.connack(.init(ReasonCode(code), .v5)), at: 0)))
      #expect(delay >= 30_000)
    }
  }

  @Test func `a broker that does not know version 5 is asked in 3-1-1, and later again in 5`() {
    var session = Session(Session.Settings(), seed: 1)
    _ = session.handle(.start, at: 0)
    _ = session.handle(.connack(.init(ReasonCode(132), .v5)), at: 0)
    #expect(session.handle(.time, at: 0) == [.connect(.v311)])
    let connack = Session.Connack(ReasonCode(0), .v311)
    _ = session.handle(.connack(connack), at: 0)
    let delay = wait(in: session.handle(.lost(Loss(.closed)), at: 10)) ?? 0
    #expect(session.handle(.time, at: 10 + delay) == [.connect(.v5)])
  }

  @Test func `a broker that hangs up on version 5 is asked in 3-1-1`() {
    var session = Session(Session.Settings(), seed: 1)
    var now: Int64 = 0
    _ = session.handle(.start, at: now)
    for expected in [ProtocolVersion.v5, .v311, .v311, .v5] {
      now += wait(in: session.handle(.lost(Loss(.closed)), at: now)) ?? 0
      #expect(session.handle(.time, at: now) == [.connect(expected)])
    }
  }

  @Test func `waits grow, are spread over all of their range, and start small again after a stable connection`() {
    var settings = Session.Settings()
    settings.backoff.soon = 1_000
    settings.backoff.soonCap = 64_000
    var highest: [Int64] = Array(repeating: 0, count: 10)
    var lowest: [Int64] = Array(repeating: .max, count: 10)
    for seed in 0..<200 as Range<UInt64> {
      var session = Session(settings, seed: seed)
      var now: Int64 = 0
      _ = session.handle(.start, at: now)
      for attempt in 0..<10 {
        let delay = wait(in: session.handle(.lost(Loss(.transport)), at: now)) ?? 0
        highest[attempt] = max(highest[attempt], delay)
        lowest[attempt] = min(lowest[attempt], delay)
        now += delay
        _ = session.handle(.time, at: now)
      }
      _ = session.handle(.connack(.init(ReasonCode(0), .v5)), at: now)
      let after = wait(in: session.handle(.lost(Loss(.closed)), at: now + settings.backoff.stable)) ?? 0
      #expect(after <= 1_000)
    }
    for attempt in 0..<10 {
      let ceiling = min(64_000, 1_000 << Int64(attempt))
      #expect(highest[attempt] <= ceiling)
      #expect(highest[attempt] > ceiling * 9 / 10)
      #expect(lowest[attempt] < ceiling / 10)
    }
  }

  @Test func `a connection that is lost at once does not start the waits anew`() {
    var session = Session(Session.Settings(), seed: 5)
    var now: Int64 = 0
    var total: Int64 = 0
    _ = session.handle(.start, at: now)
    for _ in 0..<50 {
      _ = session.handle(.connack(.init(ReasonCode(0), .v5)), at: now)
      let pause = wait(in: session.handle(.lost(Loss(.disconnected(.sessionTakenOver))), at: now + 10)) ?? 0
      total += pause
      now += 10 + pause
      _ = session.handle(.time, at: now)
    }
    #expect(total > 50 * 60_000)
  }

  @Test func `a silent broker is given up at the handshake, the subscription and the publication`() {
    var settings = Session.Settings()
    settings.subscriptions = [Subscription("a")]
    var session = Session(settings, seed: 1)
    _ = session.handle(.start, at: 0)
    #expect(session.handle(.time, at: 19_999) == [])
    #expect(session.handle(.time, at: 20_000).first == .close)
    var second = Session(settings, seed: 1)
    _ = second.handle(.start, at: 0)
    _ = second.handle(.connack(.init(ReasonCode(0), .v5)), at: 0)
    #expect(second.handle(.time, at: 30_000).first == .close)
    var third = connected()
    _ = third.handle(.publish(Publication("t", []), 1), at: 0)
    let actions = third.handle(.time, at: 30_000)
    #expect(actions.prefix(2) == [.close, .complete(1, .lost)])
  }

  @Test func `the window, the queue and what is beyond them`() {
    var settings = Session.Settings()
    settings.window = 1
    settings.queueCap = 1
    var session = connected(settings)
    let publication = Publication("t", [])
    #expect(session.handle(.publish(publication, 1), at: 0) == [.send(publication, 1)])
    _ = session.handle(.sent(1, identifier: 11), at: 0)
    #expect(session.handle(.publish(publication, 2), at: 0) == [])
    #expect(session.handle(.publish(publication, 3), at: 0) == [.complete(3, .unsent("too many messages wait"))])
    #expect(
      session.handle(.puback(identifier: 11, ReasonCode(135)), at: 0)
        == [.complete(1, .refused(.notAuthorized)), .send(publication, 2)])
  }

  @Test func `nothing is queued while there is no connection`() {
    var session = Session(Session.Settings(), seed: 1)
    #expect(session.handle(.publish(Publication("t", []), 1), at: 0) == [.complete(1, .unsent("not connected"))])
  }

  // MARK: Rows

  private func publication(_ row: Int) -> Publication {
    var publication = Publication("t", [])
    publication.row = row
    return publication
  }

  private let isBroken = Session.Outcome.unsent("one before it was not sent")

  /// The connection is lost and there is another one.
  private func reconnect(_ session: inout Session, at now: Int64) {
    let actions = session.handle(.lost(Loss(.closed)), at: now)
    let later = now + (wait(in: actions) ?? 0)
    #expect(session.handle(.time, at: later) == [.connect(.v5)])
    _ = session.handle(.connack(.init(ReasonCode(0), .v5)), at: later)
    #expect(session.isOnline)
  }

  @Test func `a row is not gone on with in another connection`() {
    var session = connected()
    #expect(session.handle(.publish(publication(1), 1), at: 0) == [.send(publication(1), 1)])
    reconnect(&session, at: 10)
    #expect(session.handle(.publish(publication(1), 2), at: 100_000) == [.complete(2, isBroken)])
    #expect(session.handle(.publish(publication(2), 3), at: 100_000) == [.send(publication(2), 3)])
    // One that was begun when nobody was there.
    var other = Session(Session.Settings(), seed: 7)
    _ = other.handle(.start, at: 0)
    #expect(other.handle(.publish(publication(1), 1), at: 0) == [.complete(1, .unsent("not connected"))])
    _ = other.handle(.connack(.init(ReasonCode(0), .v5)), at: 0)
    #expect(other.handle(.publish(publication(1), 2), at: 0) == [.complete(2, isBroken)])
    #expect(other.handle(.publish(Publication("t", []), 3), at: 0) == [.send(Publication("t", []), 3)])
  }

  @Test func `a row has no hole where there was no room`() {
    var settings = Session.Settings()
    (settings.window, settings.queueCap) = (1, 1)
    var session = connected(settings)
    _ = session.handle(.publish(publication(1), 1), at: 0)
    _ = session.handle(.sent(1, identifier: 11), at: 0)
    _ = session.handle(.publish(publication(1), 2), at: 0)
    #expect(session.handle(.publish(publication(1), 3), at: 0) == [.complete(3, .unsent("too many messages wait"))])
    _ = session.handle(.puback(identifier: 11, ReasonCode(0)), at: 0)
    #expect(session.handle(.publish(publication(1), 4), at: 0) == [.complete(4, isBroken)])
    #expect(session.handle(.publish(publication(2), 5), at: 0) == [])
  }

  @Test func `what the library does not take holds back the rest of its row`() {
    var settings = Session.Settings()
    settings.window = 1
    var session = connected(settings)
    _ = session.handle(.publish(publication(1), 1), at: 0)
    _ = session.handle(.publish(publication(1), 2), at: 0)
    _ = session.handle(.publish(Publication("t", []), 3), at: 0)
    #expect(
      session.handle(.unsent(1, "no memory"), at: 0) == [
        .complete(1, .unsent("no memory")), .send(Publication("t", []), 3), .complete(2, isBroken),
      ])
  }

  @Test func `a garbled SUBACK is a refusal`() {
    var settings = Session.Settings()
    settings.subscriptions = [Subscription("a")]
    for codes: [UInt8] in [[], [0, 0], [135]] {
      var session = Session(settings, seed: 1)
      _ = session.handle(.start, at: 0)
      _ = session.handle(.connack(.init(ReasonCode(0), .v5)), at: 0)
      _ = session.handle(.subscribing(Subscription("a"), identifier: 5), at: 0)
      let actions = session.handle(.suback(identifier: 5, codes: codes), at: 0)
      #expect(actions.first == .refused(Subscription("a"), codes == [135] ? .notAuthorized : nil))
      #expect(session.isOnline)
    }
  }
}
