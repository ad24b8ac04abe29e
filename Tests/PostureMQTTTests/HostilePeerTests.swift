import Glibc
import PosturePlatform
import TestKit
import Testing

@testable import PostureMQTT

/// Against a peer that says what no honest broker says.
struct HostilePeerTests {
  private func client(_ port: UInt16, _ inbox: Inbox, _ change: (inout Client.Settings) -> Void = { _ in }) throws
    -> Client
  {
    var settings = Client.Settings(.plain(host: "127.0.0.1", port: port), clientID: "dev")
    settings.session = .quick()
    change(&settings)
    return try Client(settings, inbox: inbox)
  }

  @Test(
    arguments: [128, 129, 130, 131, 133, 134, 135, 136, 137, 138, 140, 144, 149, 151, 153, 154, 155, 156, 157, 159]
      as [UInt8])
  func `a CONNACK that refuses is named and tried again`(_ code: UInt8) throws {
    let peer = try ScriptedPeer { connection, index in
      _ = connection.packet()
      connection.send(Packet.connack(index == 0 ? code : 0))
      _ = connection.read(1, 2_000)
    }
    let inbox = try Inbox()
    let client = try client(peer.port, inbox)
    #expect(inbox.offline()?.code == .refused(ReasonCode(code)))
    #expect(inbox.online() != nil)
    client.stop()
  }

  @Test(
    arguments: [
      0, 128, 129, 130, 131, 135, 137, 139, 141, 142, 143, 144, 147, 148, 149, 150, 151, 152, 156, 157, 159, 160,
    ] as [UInt8])
  func `a DISCONNECT is named and the connection made anew`(_ code: UInt8) throws {
    let peer = try ScriptedPeer { connection, _ in
      _ = connection.packet()
      connection.send(Packet.connack(0) + Packet.disconnect(code))
      _ = connection.read(1, 500)
    }
    let inbox = try Inbox()
    // What it wants to subscribe to it finds no connection for.
    let client = try client(peer.port, inbox) { $0.session.subscriptions = [Subscription("a")] }
    let loss = try #require(inbox.offline())
    #expect(loss.code == (code == 0 ? .closed : .disconnected(ReasonCode(code))))
    #expect(inbox.offline() != nil)
    #expect(peer.connectionCount >= 2)
    client.stop()
  }

  @Test(arguments: [(UInt8(132), true), (1, false)])
  func `a broker of the older version is spoken to in it`(_ code: UInt8, _ isV5: Bool) throws {
    let peer = try ScriptedPeer { connection, index in
      // Protocol name "MQTT", then its level.
      guard let packet = connection.packet(), packet.rest.count > 6 else { return }
      let level = packet.rest[6]
      connection.send(level == 5 ? Packet.connack(code, isV5: isV5) : Packet.connack(0, isV5: false))
      _ = connection.read(1, 3_000)
    }
    let inbox = try Inbox()
    let client = try client(peer.port, inbox)
    #expect(inbox.online()?.version == .v311)
    client.stop()
  }

  @Test func `a peer that says nothing is given up in time`() throws {
    let peer = try ScriptedPeer { connection, _ in _ = connection.read(1 << 20, 3_000) }
    let inbox = try Inbox()
    let client = try client(peer.port, inbox) { $0.session.connectTimeout = 300 }
    let start = Clock.monotonicMilliseconds
    #expect(inbox.offline()?.code == .silent)
    #expect(Clock.monotonicMilliseconds - start < 1_500)
    client.stop()
    #expect(inbox.ended())
  }

  @Test func `a peer that is silent in the middle of TLS is given up in time`() throws {
    let folder = try Folder()
    let identity = try CertificateWorkshop(folder.path).issue("dev")
    let peer = try ScriptedPeer { connection, _ in _ = connection.read(1 << 20, 3_000) }
    let inbox = try Inbox()
    let client = try client(peer.port, inbox) {
      $0.server = .tls(host: "127.0.0.1", port: peer.port, TLSFiles(identity))
      $0.session.connectTimeout = 300
    }
    let before = Clock.processNanoseconds
    #expect(inbox.offline()?.code == .silent)
    // It waits without turning in circles.
    #expect(Clock.processNanoseconds - before < 2_000_000_000)
    client.stop()
  }

  @Test func `a peer that speaks no TLS, and one that hangs up in it`() throws {
    let folder = try Folder()
    let identity = try CertificateWorkshop(folder.path).issue("dev")
    for isPolite in [true, false] {
      let peer = try ScriptedPeer { connection, _ in
        _ = connection.read(10)
        if isPolite { connection.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)) }
      }
      let inbox = try Inbox()
      let client = try client(peer.port, inbox) {
        $0.server = .tls(host: "127.0.0.1", port: peer.port, TLSFiles(identity))
      }
      #expect(inbox.offline()?.code == .transport)
      #expect(inbox.offline()?.code == .transport)
      client.stop()
    }
  }

  @Test func `answers that come byte by byte are answers`() throws {
    let peer = try ScriptedPeer { connection, _ in
      _ = connection.packet()
      for byte in Packet.connack(0) + Packet.publish(Array("a".utf8), [1, 2, 3]) {
        connection.send([byte])
        usleep(5_000)
      }
      _ = connection.read(1, 2_000)
    }
    let inbox = try Inbox()
    let client = try client(peer.port, inbox)
    #expect(inbox.online() != nil)
    #expect(inbox.message()?.payload == [1, 2, 3])
    client.stop()
  }

  @Test func `names that no broker may use are dropped, and the rest goes on`() throws {
    let bad = ["a/#", "+/b", "$SYS/x", String(repeating: "x", count: 600)]
    let peer = try ScriptedPeer { connection, _ in
      _ = connection.packet()
      connection.send(Packet.connack(0))
      for name in bad { connection.send(Packet.publish(Array(name.utf8), [1])) }
      connection.send(Packet.publish(Array("good".utf8), []))
      _ = connection.read(1, 2_000)
    }
    let inbox = try Inbox()
    let client = try client(peer.port, inbox)
    var dropped = 0
    let message = inbox.first { event -> Message? in
      if event == .dropped { dropped += 1 }
      if case .message(let message) = event { return message }
      return nil
    }
    #expect(message == Message(topic: "good", payload: [], qos: 0))
    #expect(dropped == bad.count)
    client.stop()
  }

  @Test(arguments: [
    // Bad UTF-8, control characters, and lengths that lie.
    Packet.publish([0x61, 1], [1]), Packet.publish([0x61, 0x7F], [1]),
    Packet.publish([0x61, 0xFF], [1]), Packet.publish([0x61, 0], [1]), [0x30, 3, 0, 200, 65],
    // An alias nobody allowed, and a property that does not belong.
    Packet.publish([], [1], properties: [3, 0x23, 0, 1]), Packet.publish([65], [1], properties: [2, 0x24, 1]),
    // Properties that MQTT does not know, in a message, a DISCONNECT, a PUBACK and a SUBACK.
    Packet.publish([65], [1], properties: [2, 0x7F, 1]), [0xE0, 4, 0, 2, 0x7F, 1], [0x40, 6, 0, 1, 0, 2, 0x7F, 1],
    [0x90, 6, 0, 1, 2, 0x7F, 1, 0],
    // QoS 2 and 3, a packet identifier of 0.
    Packet.publish([65], [1], flags: 4, identifier: 1), Packet.publish([65], [1], flags: 6, identifier: 1),
    Packet.publish([65], [1], flags: 2, identifier: 0),
    // A length of five bytes, a second CONNACK cut short, a packet type of 0.
    [0x30, 0x80, 0x80, 0x80, 0x80, 1], [0x20, 1, 0], [0x00, 0],
    // CONNECT, SUBSCRIBE and PINGREQ are not a broker's.
    [0x10, 0], [0x82, 0],
  ])
  func `what the protocol does not allow ends the connection, not the process`(_ bytes: [UInt8]) throws {
    let peer = try ScriptedPeer { connection, index in
      _ = connection.packet()
      connection.send(Packet.connack(0) + (index == 0 ? bytes : []))
      _ = connection.read(1 << 16, 2_000)
    }
    let inbox = try Inbox()
    let client = try client(peer.port, inbox)
    #expect(inbox.online() != nil)
    #expect(inbox.offline() != nil)
    #expect(inbox.online() != nil)
    client.stop()
  }

  @Test func `thousands of properties and long correlation data are bounded`() throws {
    let pair: [UInt8] = [0x26, 0, 1, 65, 0, 1, 66]
    let many = Array(repeating: pair, count: 5_000).flatMap(\.self)
    let correlation: [UInt8] = [0x09, 0xFF, 0xFF] + Array(repeating: 7, count: 65_535)
    let peer = try ScriptedPeer { connection, _ in
      _ = connection.packet()
      connection.send(Packet.connack(0))
      for properties in [many, correlation] {
        connection.send(
          Packet.publish(Array("a".utf8), [1], properties: Packet.length(properties.count) + properties))
      }
      _ = connection.read(1, 2_000)
    }
    let inbox = try Inbox()
    let client = try client(peer.port, inbox)
    #expect(inbox.message()?.correlation == nil)
    #expect(inbox.message()?.correlation?.count == 65_535)
    client.stop()
  }

  @Test func `random bytes after CONNACK never do worse than end the connection`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed \(seed)")
    let peer = try ScriptedPeer { connection, index in
      _ = connection.packet(1_000)
      var random = PostureMQTT.SplitMix(seed: seed &+ UInt64(index))
      var bytes = (0..<Int.random(in: 1...400, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      // Half of them begin like a packet of a broker's.
      if index % 2 == 0 { bytes[0] = [0x30, 0x32, 0x40, 0x90, 0xD0, 0xE0, 0xF0].randomElement(using: &random) ?? 0x30 }
      connection.send(Packet.connack(0) + bytes)
      _ = connection.read(1, 20)
    }
    let inbox = try Inbox()
    let client = try client(peer.port, inbox) {
      $0.session.backoff.soon = 0
      $0.session.backoff.later = 0
      $0.session.connectTimeout = 200
    }
    let deadline = Clock.monotonicMilliseconds + (Long.isWanted ? 60_000 : 3_000)
    while Clock.monotonicMilliseconds < deadline { _ = inbox.next(100) }
    #expect(peer.connectionCount > 20)
    client.stop()
    #expect(inbox.ended())
  }

  @Test func `a packet of 256 MiB is cut off long before it fills the memory`() throws {
    let folder = try Folder()
    let workshop = try CertificateWorkshop(folder.path)
    let server = try workshop.issue("localhost", names: "IP:127.0.0.1")
    let port = try Loopback.freePort()
    let start = Packet.connack(0) + [0x30, 0xFF, 0xFF, 0xFF, 0x7F]
    try AtomicFile.write(start, to: folder.file("start"))
    let peer = try RunningProcess(
      "/bin/sh",
      [
        "-c",
        "(cat \(folder.file("start")); sleep 1; head -c 268435455 /dev/zero; sleep 5) | exec openssl s_server -quiet -accept 127.0.0.1:\(port) -cert \(server.certificate) -key \(server.key)",
      ], log: folder.file("log"))
    defer { peer.stop() }
    for _ in 0..<200 where !Loopback.isOpen(port) { usleep(10_000) }
    let inbox = try Inbox()
    let client = try client(port, inbox) {
      $0.server = .tls(host: "127.0.0.1", port: port, TLSFiles(try! workshop.issue("dev")))
    }
    let before = Measure.residentBytes
    let loss = inbox.first(20_000) { event -> Loss? in
      if case .offline(let loss, _) = event, loss.code != .transport { return loss }
      return nil
    }
    #expect(loss?.code == .nonsense, "\(String(describing: loss))")
    #expect(Measure.residentBytes - before < 100 << 20)
    client.stop()
  }

  @Test func `nothing is left of many connections`() throws {
    let peer = try ScriptedPeer { connection, _ in
      _ = connection.packet()
      connection.send(Packet.connack(0) + Packet.disconnect(137))
      _ = connection.read(1, 50)
    }
    let inbox = try Inbox()
    let client = try client(peer.port, inbox) { $0.session.backoff.soon = 0 }
    for _ in 0..<20 { _ = inbox.offline() }
    let (descriptors, memory) = (Measure.openDescriptors, Measure.residentBytes)
    for _ in 0..<200 { #expect(inbox.offline() != nil) }
    // Other tests of this process run at the same time.
    #expect(Measure.openDescriptors - descriptors < 40)
    #expect(Measure.residentBytes - memory < 64 << 20)
    client.stop()
  }
}
