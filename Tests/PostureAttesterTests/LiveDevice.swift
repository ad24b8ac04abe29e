import Glibc
import Posture
import PosturePlatform
import Synchronization
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

  private let authority: CertificateAuthority
  private let enrolled: Mutex<PublicKey?> = Mutex(nil)

  init(_ top: String, tree: FixtureTree, enroll words: [String] = []) throws {
    self.top = top
    self.tree = tree
    chmod(top, 0o755)
    folder = DeviceFolder("\(top)/state")
    // As below /run, whose folders are gone after each start of the machine.
    socket = "\(top)/run/attester.sock"
    log = "\(top)/log"
    let now = max(Clock.wall, Release.date)
    site = try TestSite(now: now)
    authority = try CertificateAuthority.create(
      site: site.name, key: try FileKey.generate(), at: now, until: now + 10_000_000)
    mkdir("\(top)/run", 0o755)
    if geteuid() == 0 { chown("\(top)/run", Self.attester.uid, Self.attester.gid) }
    try Files.write(Array("{}".utf8), to: "\(top)/none.json", mode: 0o644)
    try enroll(words)
  }

  /// Asks, is signed, and installs, as the command line does it. Returns the new credential.
  @discardableResult
  func enroll(_ words: [String] = []) throws -> String {
    let file = "\(top)/edge-1.request"
    try agent(["enroll", "--name", "edge-1", "--out", file] + words)
    let request = try EnrolmentRequest(Files.read(file).filter { $0 != 0x0A })
    let now = max(Clock.wall, Release.date)
    let bundle = try Enrolment(root: site.root.jwk, issuer: site.issuer, authority: authority, trust: site.trust())
      .bundle(
        for: request, name: Name("edge-1")!, role: .device,
        broker: EnrolmentBundle.Broker(host: "127.0.0.1", port: 8883, serverName: "localhost"), at: now,
        until: now + 1_000_000)
    try Files.write(bundle.json.bytes, to: "\(top)/bundle", mode: 0o644)
    try agent(["enroll", "--install", "\(top)/bundle"])
    enrolled.withLock { $0 = request.key }
    return bundle.credential
  }

  struct Failure: Error { let status: Int32, text: String }

  private var users: [String] {
    geteuid() == 0 ? ["--user", "\(Self.attester.uid)", "--courier", "\(Self.courier.uid)"] : []
  }

  /// Runs a verb of the real program to its end.
  func agent(_ words: [String]) throws {
    var command = Command(Self.agent, words + ["--config", "\(top)/none.json", "--folder", folder.path] + users)
    command.timeout = 60_000
    let output = try command.run()
    guard output.status == 0 else {
      throw Failure(status: output.status, text: String(decoding: output.err, as: UTF8.self))
    }
  }

  /// - Parameters:
  ///   - keep: with a keeper that starts it again.
  ///   - keepsNetwork: as the attester's user from the start, for a TPM that is reached over loopback.
  func start(keep: Bool = false, keepsNetwork: Bool = false) throws -> RunningProcess {
    var words = ["attest"] + (keep ? ["--keep"] : [])
    words += ["--config", "\(top)/none.json", "--folder", folder.path, "--socket", socket, "--root", tree.root]
    words += users
    unlink(socket)
    guard keepsNetwork, geteuid() == 0 else { return try RunningProcess(Self.agent, words, log: log) }
    let identity = ["--reuid=\(Self.attester.uid)", "--regid=\(Self.attester.gid)", "--clear-groups", "--"]
    return try RunningProcess("/usr/bin/setpriv", identity + [Self.agent] + words, log: log)
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

  struct NotEnrolled: Error {}

  /// Of the last enrolment.
  var key: PublicKey {
    get throws {
      guard let key = enrolled.withLock({ $0 }) else { throw NotEnrolled() }
      return key
    }
  }

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
