import Posture
@testable import PostureTokens
import TestKit
import Testing

/// Whatever the order in which a broker brings things, the monitor ends up with the same opinion.
@Suite struct ArrivalTests {
  private struct Delivery {
    let topic: String
    let bytes: [UInt8]
    init(_ site: VectorSite, _ place: Topic.Place, _ text: String) {
      topic = Topic(site.name, place).text
      bytes = Array(text.utf8)
    }
  }

  private static func permutations<Element>(_ items: [Element]) -> [[Element]] {
    guard items.count > 1 else { return [items] }
    return items.indices.flatMap { index in
      var rest = items
      let first = rest.remove(at: index)
      return permutations(rest).map { [first] + $0 }
    }
  }

  /// The standing of the device's key and the payloads of the verified messages, in the end.
  private static func opinion(_ deliveries: [Delivery], _ site: VectorSite) throws -> (String, Set<String>) {
    var monitor = MonitorVerifier(trust: try TrustStore(site: site.name, root: site.root.jwk))
    var verified: Set<String> = []
    for delivery in deliveries {
      for outcome in monitor.receive(delivery.bytes, on: delivery.topic, at: Moment(VectorSite.now)) {
        switch outcome {
        case .message(let message): verified.insert(message.token.digest)
        case .rejected(let topic, let error): Issue.record("\(topic): \(error)")
        default: break
        }
      }
    }
    #expect(monitor.waitingCount.held == 0)
    return (monitor.standing(of: site.deviceKey.publicKey.kid, at: Moment(VectorSite.now)).rawValue, verified)
  }

  private func messages(_ site: VectorSite) throws -> [Delivery] {
    let edge = site.device
    return [
      Delivery(site, .presence(edge), try TokenEncoder.encode(.presence, site.presence(), with: site.deviceKey)),
      Delivery(site, .report(edge), try TokenEncoder.encode(.report, site.report(), with: site.deviceKey)),
    ]
  }

  @Test(arguments: [false, true]) func `keys, trust, the list's parts, presence and report`(_ isRevoked: Bool) throws {
    let site = try VectorSite()
    let kids = (0..<RevokedClaims.keysPerPart).map { SHA256.text(of: [UInt8($0 & 255), UInt8($0 >> 8)]) }
    let own = isRevoked ? site.deviceKey.publicKey.kid : SHA256.text(of: [9, 9, 9])
    let (parts, list) = try site.issuer.revoked(kids + [own], version: 1, at: VectorSite.now)
    let all =
      try messages(site) + [
        Delivery(site, .keys(site.device), site.keys()), Delivery(site, .trust, site.trust(list: list)),
        Delivery(site, .revoked, parts[0]), Delivery(site, .revokedPart(1), parts[1]),
      ]
    var count = 0
    for order in Self.permutations(all) {
      let (standing, verified) = try Self.opinion(order, site)
      #expect(standing == (isRevoked ? "revoked" : "good"))
      #expect(verified.count == 2)
      count += 1
    }
    #expect(count == 720)
  }

  @Test func `a root that only the trust document names`() throws {
    let site = try VectorSite()
    let next = Root(key: VectorSite.key("root-2"))
    let issuer = try VectorSite.issuer("issuer-2", of: next)
    let now = VectorSite.now
    let rotation = try site.root.rotation(
      to: next.jwk, at: now - 10, until: now + VectorSite.year, previousUntil: now + 1_000)
    let (parts, list) = try issuer.revoked([], version: 1, at: now)
    let all =
      try messages(site) + [
        Delivery(site, .keys(site.device), site.keys(by: issuer)),
        Delivery(site, .trust, site.trust(by: issuer, list: list, rotations: [rotation])),
        Delivery(site, .revoked, parts[0]),
      ]
    for order in Self.permutations(all) {
      let (standing, verified) = try Self.opinion(order, site)
      #expect(standing == "good")
      #expect(verified.count == 2)
    }
  }

  @Test func `what waits is bounded`() throws {
    let site = try VectorSite()
    var monitor = MonitorVerifier(trust: try TrustStore(site: site.name, root: site.root.jwk))
    let event = Array(try TokenEncoder.encode(.event, site.event(.start(.enrolled)), with: site.deviceKey).utf8)
    for _ in 0..<1_000 {
      _ = monitor.receive(event, on: Topic(site.name, .event(site.device)).text, at: Moment(VectorSite.now))
    }
    #expect(monitor.waitingCount.held == WaitingRoom.perKey)
    #expect(monitor.waitingCount.dropped == 1_000 - WaitingRoom.perKey)
    let report = Array(try TokenEncoder.encode(.report, site.report(), with: site.deviceKey).utf8)
    for _ in 0..<10 {
      _ = monitor.receive(report, on: Topic(site.name, .report(site.device)).text, at: Moment(VectorSite.now))
    }
    #expect(monitor.waitingCount.held == WaitingRoom.perKey + 1)
  }

  private func topic(_ device: String) -> Topic { Topic(Name("site")!, .reply(Name(device)!)) }

  private func key(_ number: Int) -> WaitingRoom.Want { .key("k\(number)") }

  @Test func `a device at its bound loses its oldest message, and no other loses one`() {
    var room = WaitingRoom()
    room.add([9], on: topic("other"), for: key(0))
    for number in 0..<200 { room.add([UInt8(number)], on: topic("edge-1"), for: key(number)) }
    #expect(room.count == WaitingRoom.perDevice + 1)
    #expect(room.dropped == 200 - WaitingRoom.perDevice)
    #expect(room.release(key(0)).map(\.bytes) == [[9]])
    #expect(room.release(key(199 - WaitingRoom.perDevice)).isEmpty)
    for number in (200 - WaitingRoom.perDevice)..<200 {
      #expect(room.release(key(number)).map(\.bytes) == [[UInt8(number)]])
    }
    #expect(room.count == 0)
  }

  @Test func `a full room takes from the device that holds most`() {
    var room = WaitingRoom()
    let large = [UInt8](repeating: 1, count: 30_000)
    room.add([9], on: topic("quiet"), for: key(-1))
    let crowd = 3 * WaitingRoom.mostBytes / (large.count * WaitingRoom.perDevice)
    for device in 0..<crowd {
      for number in 0..<WaitingRoom.perDevice {
        room.add(large, on: topic("edge-\(device)"), for: key(device * WaitingRoom.perDevice + number))
      }
    }
    #expect(room.count < WaitingRoom.mostBytes / large.count + 1)
    #expect(room.count + room.dropped == crowd * WaitingRoom.perDevice + 1)
    room.add([8], on: topic("late"), for: key(-2))
    #expect(room.release(key(-1)).map(\.bytes) == [[9]])
    #expect(room.release(key(-2)).map(\.bytes) == [[8]])
    // The last one has as much as the others, and its newest.
    #expect(room.release(key(crowd * WaitingRoom.perDevice - 1)).count == 1)
  }

  @Test func `a retained topic keeps its newest message for a key`() {
    var room = WaitingRoom()
    let report = Topic(Name("site")!, .report(Name("edge-1")!))
    for number in 0..<100 { room.add([UInt8(number)], on: report, for: key(1)) }
    #expect((room.count, room.dropped) == (1, 0))
    #expect(room.release(key(1)).map(\.bytes) == [[99]])
    #expect(room.count == 0)
  }
}
