import Posture
import PosturePlatform
import Synchronization
import TestKit

@testable import PostureAttester
@testable import PostureTokens

/// A device of a test site, with a state folder and clocks that a test turns.
final class TestDevice: Sendable {
  final class Hands: Sendable {
    let wall = Mutex<Int64>(TestDevice.start)
    let uptime = Mutex<Int64>(1_000_000)
    let isTrusted = Mutex(true)
  }

  /// After ``Release/date``, so that a trusted clock is one.
  static let start = Release.date + 1_000

  let site: TestSite
  let folder: String
  let identity: DeviceIdentity
  let hands = Hands()

  init(_ folder: String, groups: [Name] = [], key: FileKey? = nil, site: TestSite? = nil) throws {
    let site = try site ?? TestSite(now: Self.start)
    let key = try key ?? FileKey.generate()
    self.folder = folder
    self.site = site
    var trust = try TrustStore(site: site.name, root: site.root.jwk)
    try trust.accept(Array(site.trust().utf8), at: Moment(site.now))
    identity = DeviceIdentity(
      key: key, party: site.party("edge-1"), groups: groups,
      ueid: Base64URL.encode([1] + Array(repeating: 7, count: 16)),
      trust: trust)
    try Journal.prepare(folder: folder)
  }

  var clock: DeviceClock {
    let hands = hands
    return DeviceClock(
      wall: { hands.wall.withLock { $0 } }, isTrusted: { hands.isTrusted.withLock { $0 } },
      uptime: { hands.uptime.withLock { $0 } })
  }

  func pass(hours: Int64) {
    hands.uptime.withLock { $0 += hours * 3_600_000 }
    hands.wall.withLock { $0 += hours * 3_600 }
  }

  func attester(bounds: EventChain.Bounds = .standard) throws -> Attester {
    try Attester(state: folder, identity: identity, clock: clock, bounds: bounds)
  }

  func claims(_ token: String, _ kind: TokenKind) throws -> JSON {
    try TokenDecoder.decode(token, kinds: [kind]).verified(by: identity.key.publicKey).claims
  }

  func report(_ token: String) throws -> ReportClaims { try ReportClaims(claims: claims(token, .report)) }

  /// All that waits, verified.
  func events(_ attester: Attester) throws -> [EventClaims] {
    guard case .events(_, let tokens) = try attester.events(after: 0, limit: 256) else { return [] }
    return try tokens.map { try EventClaims(claims: claims($0.token, .event)) }
  }
}

extension Examination {
  /// One owner, whose console asks for a passcode or does not.
  static func of(open: Bool, extra: Int = 0) -> Examination {
    var facts = ProbeResult()
    facts.subjects = [
      Subject(name: "alice", uid: 1000, kind: .owner, account: .active, password: .set, scheme: "yescrypt")
    ]
    facts.doors = [
      Door(
        "login@console", .entry, "alice", open ? .always : .passcode,
        because: [Reason("pam.unix", file: "/etc/pam.d/login", line: 1)])
    ]
    facts.remarks = (0..<extra).map {
      Remark(Cause("dormantDoor", observed: "n\($0)", evidence: []), check: .remoteEntry, subject: "s\($0)")
    }
    var examination = Examination(began: 0)
    examination.parts = [.authPolicy: facts, .keyring: ProbeResult()]
    return examination
  }
}

extension Attester {
  @discardableResult
  func look(open: Bool, extra: Int = 0, nonces: [String] = []) throws -> String {
    try report(on: .of(open: open, extra: extra), nonces: nonces, cause: .schedule, watch: .complete)
  }
}
