import Glibc
import Posture
import PosturePlatform
import TestKit

@testable import PostureAttester
@testable import PostureTokens

/// A real `posture-agent attest` that looks at a tree of the test, enrolled with a site of the test.
final class LiveDevice: Sendable {
  static let agent = Path.join(Repository.products, "posture-agent")
  static var isBuilt: Bool { access(agent, X_OK) == 0 }
  /// Numbers of nobody. As root the attester becomes the first of them.
  static let attester = Privilege.User(uid: 64_001, gid: 64_001)
  static let courier = Privilege.User(uid: 64_002, gid: 64_002)

  let top: String
  let folder: DeviceFolder
  let tree: FixtureTree
  let site: TestSite
  let socket: String
  let log: String

  init(_ top: String, tree: FixtureTree) throws {
    self.top = top
    self.tree = tree
    chmod(top, 0o755)
    folder = DeviceFolder("\(top)/state")
    // As below /run, whose folders are gone after each start of the machine.
    socket = "\(top)/run/attester.sock"
    log = "\(top)/log"
    let now = max(Clock.wall, Release.date)
    site = try TestSite(now: now)
    let authority = try CertificateAuthority.create(
      site: site.name, key: try FileKey.generate(), at: now, until: now + 10_000_000)
    let isRoot = geteuid() == 0
    let enrolment = DeviceEnrolment(
      folder, attester: isRoot ? Self.attester : nil, courier: isRoot ? Self.courier : nil)
    let (request, _) = try enrolment.request(name: Name("edge-1"))
    let bundle = try Enrolment(root: site.root.jwk, issuer: site.issuer, authority: authority, trust: site.trust())
      .bundle(
        for: EnrolmentRequest(Array(request.utf8)), name: Name("edge-1")!, role: .device,
        broker: EnrolmentBundle.Broker(host: "127.0.0.1", port: 8883, serverName: "localhost"), at: now,
        until: now + 1_000_000)
    _ = try enrolment.install(bundle.json.bytes)
  }

  /// - Parameter keep: with a keeper that starts it again.
  func start(keep: Bool = false) throws -> RunningProcess {
    var words = ["attest"] + (keep ? ["--keep"] : [])
    words += ["--config", "\(top)/none.json", "--folder", folder.path, "--socket", socket, "--root", tree.root]
    if geteuid() == 0 { words += ["--user", "\(Self.attester.uid)", "--courier", "\(Self.courier.uid)"] }
    try Files.write(Array("{}".utf8), to: "\(top)/none.json", mode: 0o644)
    unlink(socket)
    return try RunningProcess(Self.agent, words, log: log)
  }

  /// A connection, as soon as somebody answers.
  func client(within milliseconds: Int64 = 5_000) throws -> AttesterClient {
    let deadline = Clock.boottimeMilliseconds + milliseconds
    while true {
      do throws(SystemError) { return try AttesterClient(socket) } catch {
        guard Clock.boottimeMilliseconds < deadline else { throw error }
        usleep(10_000)
      }
    }
  }

  var key: PublicKey { get throws { try FileKey(pem: Files.read(folder.attesterKey)).publicKey } }

  func claims(_ token: String, _ kind: TokenKind) throws -> JSON {
    try TokenDecoder.decode(token, kinds: [kind]).verified(by: key).claims
  }
}

extension AttesterClient {
  mutating func report(_ nonces: [String] = [], _ cause: ReportCause = .schedule) throws -> String {
    switch try ask(.report(nonces: nonces, cause: cause)) {
    case .token(let token): return token
    case .failed(let code, let why): throw AttesterError(code, why)
    default: throw AttesterError(.internal, "another answer")
    }
  }
}
