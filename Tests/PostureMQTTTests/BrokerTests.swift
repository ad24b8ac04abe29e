import Glibc
import PosturePlatform
import TestKit
import Testing

@testable import PostureMQTT

/// Against a real mosquitto.
@Suite(.serialized, .enabled(if: Broker.isInstalled, "needs mosquitto"))
struct BrokerTests {
  @Test func `a message goes out and comes back over mutual TLS`() throws {
    let broker = try Broker()
    let inbox = try Inbox()
    var settings = try broker.tls("dev-1")
    settings.session.subscriptions = [Subscription("a/#")]
    let client = try Client(settings, inbox: inbox)
    let connack = try #require(inbox.online())
    #expect(connack.version == .v5)
    let publication = Publication(
      "a/b", Array("hello".utf8), expiry: 60, contentType: "text/plain", responseTopic: "a/reply", correlation: [1, 2])
    let ticket = client.publish(publication)
    let message = try #require(inbox.message())
    #expect(
      message == Message(topic: "a/b", payload: Array("hello".utf8), responseTopic: "a/reply", correlation: [1, 2]))
    #expect(inbox.outcome(ticket) == .taken)
    client.stop()
    #expect(inbox.ended())
    #expect(broker.log.contains("dev-1"))
  }

  @Test(arguments: [true, false]) func `a goodbye ends as soon as it is said`(isSecure: Bool) throws {
    let broker = try Broker()
    let inbox = try Inbox()
    var settings = isSecure ? try broker.tls("dev-1") : broker.plain()
    settings.session.leaveTimeout = 20_000
    let client = try Client(settings, inbox: inbox)
    _ = try #require(inbox.online())
    client.stop(last: Publication("a", [1], retain: true))
    // Far below the time that a broker which says nothing would be given.
    #expect(inbox.first(5_000) { $0 == .ended ? true : nil } == true)
  }

  @Test func `a client without an inbox hears of everything on the loop's thread`() throws {
    let broker = try Broker()
    let loop = try Loop()
    let heard = try Inbox()
    var clients: [Client] = []
    for number in 0..<20 {
      clients.append(try Client(broker.plain("c-\(number)", Subscription("all")), on: loop) { heard.put($0) })
    }
    for _ in clients { _ = try #require(heard.online()) }
    clients[0].publish(Publication("all", [7]))
    for _ in clients { #expect(heard.message()?.payload == [7]) }
    clients.forEach { $0.stop() }
    for _ in clients { #expect(heard.ended()) }
  }

  @Test func `a completion is called with the outcome`() throws {
    let broker = try Broker()
    let inbox = try Inbox()
    let client = try Client(broker.plain(), inbox: inbox)
    _ = try #require(inbox.online())
    let done = try Inbox()
    client.publish(Publication("a", [1])) { outcome in done.put(.completed(7, outcome)) }
    #expect(done.outcome(7) == .taken)
  }

  @Test func `a farewell waits for its answer and for nothing else`() throws {
    let broker = try Broker()
    let inbox = try Inbox()
    var settings = try broker.tls("leaver")
    settings.session.leaveTimeout = 20_000
    let client = try Client(settings, inbox: inbox)
    #expect(inbox.online() != nil)
    let start = Clock.monotonicMilliseconds
    client.stop(last: Publication("last", [1]))
    #expect(inbox.ended(10_000))
    #expect(Clock.monotonicMilliseconds - start < 5_000)
  }

  /// select(2), which the library's own loop uses, ends at 1,023.
  @Test func `a socket of any number will do`() throws {
    var most = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &most)
    most.rlim_cur = most.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &most)
    var held: [Int32] = []
    while held.last ?? 0 < 1_100, held.count < 4_096 { held.append(open("/dev/null", O_RDONLY | O_CLOEXEC)) }
    defer { held.forEach { close($0) } }
    let broker = try Broker()
    let inbox = try Inbox()
    let client = try Client(broker.tls("dev-high"), inbox: inbox)
    #expect(inbox.online() != nil)
    #expect(inbox.outcome(client.publish(Publication("a", [1]))) == .taken)
  }

  @Test func `a restarted broker is found again`() throws {
    let broker = try Broker()
    let inbox = try Inbox()
    let client = try Client(broker.plain("again", Subscription("x")), inbox: inbox)
    for _ in 0..<3 {
      _ = try #require(inbox.online())
      try broker.restart()
      #expect(inbox.offline() != nil)
    }
    _ = try #require(inbox.online())
    client.publish(Publication("x", [9]))
    #expect(inbox.message()?.payload == [9])
  }

  @Test func `no name but the right one is accepted`() throws {
    for (names, isRight) in [
      ("DNS:localhost,IP:127.0.0.1", true), ("DNS:broker.example", true), ("DNS:*.example", false),
      ("DNS:*.com", false), ("DNS:other.example", false), ("IP:127.0.0.2", false),
      // dNSName "broker.example\0.evil.test"
      ("DER:301B821962726F6B65722E6578616D706C65002E6576696C2E74657374", false),
    ] {
      var options = Broker.Options()
      options.serverNames = names
      let broker = try Broker(options)
      let inbox = try Inbox()
      let name = names.contains("localhost") ? nil : names.contains("IP:") ? nil : "broker.example"
      let client = try Client(try broker.tls("dev-1", serverName: name), inbox: inbox)
      if isRight {
        #expect(inbox.online() != nil, "\(names)")
      } else {
        let loss = try #require(inbox.offline(), "\(names)")
        #expect(loss.code == .transport, "\(names)")
        #expect(loss.text.contains("certificate verify failed"), "\(names): \(loss)")
      }
      client.stop()
    }
  }

  @Test func `an expired certificate counts only where the date is not known`() throws {
    var options = Broker.Options()
    options.serverDays = -1
    let broker = try Broker(options)
    for checksDates in [true, false] {
      let inbox = try Inbox()
      var settings = try broker.tls("dev-1")
      settings.checksDates = checksDates
      let client = try Client(settings, inbox: inbox)
      if checksDates { #expect(inbox.offline()?.code == .transport) } else { #expect(inbox.online() != nil) }
      client.stop()
    }
  }

  @Test func `two clients of one name slow down instead of fighting at full speed`() throws {
    let broker = try Broker()
    var settings = broker.plain("twin")
    settings.session.backoff = Backoff()
    settings.session.backoff.soon = 200
    let inboxes = [try Inbox(), try Inbox()]
    let twins = try inboxes.map { try Client(settings, inbox: $0) }
    var losses = 0
    for _ in 0..<40 {
      for inbox in inboxes { if inbox.offline(100) != nil { losses += 1 } }
    }
    #expect((1...16).contains(losses), "\(losses) losses in about 8 s")
    twins.forEach { $0.stop() }
  }

  @Test func `a will is published when the connection breaks and not when it is left`() throws {
    let broker = try Broker()
    let watching = try Inbox()
    let watcher = try Client(broker.plain(nil, Subscription("will")), inbox: watching)
    _ = try #require(watching.online())
    for isClean in [false, true] {
      var settings = broker.plain("mortal")
      settings.session.preparesEachAttempt = true
      let inbox = try Inbox()
      var client: Client? = try Client(settings, inbox: inbox)
      #expect(inbox.first { $0 == .prepare ? true : nil } == true)
      client?.prepare(.init(will: Publication("will", text: "gone", contentType: "text/plain")))
      _ = try #require(inbox.online())
      if isClean {
        client?.stop(last: Publication("will", text: "bye"))
        #expect(inbox.ended())
      }
      client = nil
      #expect(watching.message()?.text == (isClean ? "bye" : "gone"))
      #expect(watching.message(300) == nil)
    }
    watcher.stop()
  }

  @Test func `retained messages stay away where they are not wanted`() throws {
    let broker = try Broker()
    let inbox = try Inbox()
    let client = try Client(broker.plain(), inbox: inbox)
    _ = try #require(inbox.online())
    for topic in ["wanted", "stale"] { client.publish(Publication(topic, [1], retain: true)) }
    let later = try Inbox()
    let reader = try Client(
      broker.plain(nil, Subscription("stale", wantsRetained: false), Subscription("wanted")), inbox: later)
    let message = try #require(later.message())
    #expect(message.topic == "wanted")
    #expect(message.retained)
    #expect(later.message(300) == nil)
    reader.stop()
    client.stop()
  }

  @Test func `a message larger than we take does not reach us`() throws {
    let broker = try Broker()
    let inbox = try Inbox()
    let client = try Client(broker.plain(nil, Subscription("big")), inbox: inbox)
    _ = try #require(inbox.online())
    client.publish(Publication("big", Array(repeating: 7, count: 1 << 20)))
    client.publish(Publication("big", Array(repeating: 7, count: 64 << 10)))
    #expect(inbox.message()?.payload.count == 64 << 10)
    client.stop()
  }

  @Test func `an idle connection wakes its thread twice in a keepalive interval`() throws {
    let broker = try Broker()
    let loop = try Loop()
    let inbox = try Inbox()
    var settings = broker.plain("idle")
    settings.keepalive = 5
    let client = try Client(settings, on: loop, inbox: inbox)
    _ = try #require(inbox.online())
    #expect(inbox.next(500) == nil)
    let before = loop.wakeUpCount
    // Two intervals and a half: two pings with their answers.
    #expect(inbox.offline(12_500) == nil)
    let wakeUps = loop.wakeUpCount - before
    #expect((3...5).contains(wakeUps), "\(wakeUps) wake-ups")
    client.stop()
  }

  @Test func `a frozen broker is given up within twice the keepalive`() throws {
    let broker = try Broker()
    let inbox = try Inbox()
    var settings = broker.plain("frozen")
    settings.keepalive = 5
    let client = try Client(settings, inbox: inbox)
    _ = try #require(inbox.online())
    broker.freeze()
    let start = Clock.monotonicMilliseconds
    #expect(inbox.offline(13_000)?.code == .silent)
    #expect(Clock.monotonicMilliseconds - start <= 11_500)
    broker.thaw()
    client.stop()
  }
}
