import Glibc
import Posture
import PostureFleet
import PosturePlatform
import PostureTokens
import TestKit

/// A real `posture-agent`, attester and courier each as a process of its own user, enrolled with a site of the test.
final class RealAgent {
  static let program = Path.join(Repository.products, "posture-agent")
  private static let users = (attester: "64001", courier: "64002")

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  let name: Name
  let folder: Folder
  private let site: LiveSite
  private let tree: FixtureTree
  private(set) var attester: RunningProcess?
  private(set) var courier: RunningProcess?

  /// Enrolled at `then` for `life` seconds, not started.
  init(
    _ site: LiveSite, _ name: String, life: Int64 = 100_000, at then: Int64 = Clock.wall, clock: String = "trusted",
    recheckInterval: Int = 30
  ) throws {
    self.site = site
    self.name = Name(name)!
    folder = try Folder()
    chmod(folder.path, 0o755)
    tree = try FixtureTree([
      "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/bash\n",
      "/etc/shadow": "root:*:19000:0:99999:7:::\nalice:!:19000:0:99999:7:::\n",
      "/etc/nsswitch.conf": "passwd: files\nshadow: files\ngroup: files\n",
    ])
    let configuration = """
      {"state": "\(folder.file("state"))", "socket": "\(socket)", "clock": "\(clock)",
       "recheckInterval": \(recheckInterval)}
      """
    try folder.write("agent.json", configuration, mode: 0o644)
    try enroll(life: life, at: then)
  }

  /// The same disk in another machine.
  init(copyOf other: RealAgent) throws {
    (site, name, tree) = (other.site, other.name, other.tree)
    folder = try Folder()
    chmod(folder.path, 0o755)
    _ = try Command("/bin/cp", ["-a", other.folder.file("state"), folder.file("state")]).run()
    try folder.write(
      "agent.json", #"{"state": "\#(folder.file("state"))", "socket": "\#(socket)", "clock": "trusted"}"#, mode: 0o644)
  }

  deinit { [courier, attester].forEach { $0?.crash() } }

  var socket: String { folder.file("attester.sock") }
  private var configuration: [String] { ["--config", folder.file("agent.json")] }
  private var isRoot: Bool { geteuid() == 0 }

  private func enroll(life: Int64, at then: Int64) throws {
    let users = isRoot ? ["--user", Self.users.attester, "--courier", Self.users.courier] : []
    _ = try agent(["enroll", "--name", name.description, "--out", folder.file("request")] + users)
    var options = EnrolmentDesk.Options()
    options.life = life
    let request = try EnrolmentDesk.request(folder.file("request"))
    let bundle = try EnrolmentDesk(site.home).enroll(request, options, at: then)
    try folder.write("bundle", bundle.json.text, mode: 0o644)
    _ = try agent(["enroll", "--install", folder.file("bundle")] + users)
  }

  /// Runs a verb to its end; what it printed.
  @discardableResult
  func agent(_ words: [String]) throws -> String {
    var command = Command(Self.program, words + configuration)
    command.timeout = 30_000
    let output = try command.run()
    guard output.status == 0 else { throw Failure(description: String(decoding: output.err, as: UTF8.self)) }
    return String(decoding: output.out, as: UTF8.self)
  }

  // MARK: Running

  /// `environment`: more of it, for both processes.
  func start(environment: [String] = []) throws {
    let environment = environment + ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
    let users = isRoot ? ["--user", Self.users.attester, "--courier", Self.users.courier] : []
    attester = try RunningProcess(
      Self.program, ["attest", "--root", tree.root] + configuration + users, log: folder.file("attester.log"),
      environment: environment)
    let identity =
      isRoot
      ? ["/usr/bin/setpriv", "--reuid=\(Self.users.courier)", "--regid=\(Self.users.courier)", "--clear-groups"] : []
    let words = identity + [Self.program, "run", "--alone"] + configuration
    courier = try RunningProcess(
      words[0], Array(words.dropFirst()), log: folder.file("courier.log"), environment: environment)
  }

  func stop() {
    courier?.stop()
    attester?.stop()
  }

  /// What `posture-agent status --json` says; nil where nobody answers.
  var status: JSON? { (try? agent(["status", "--json"])).flatMap { try? JSONParser.parse($0) } }

  func counter(_ name: String) -> Int64 { status?["courier"]?["counters"]?[name]?.integer ?? 0 }

  /// The credential as the process has it on its disk.
  func credential(of process: String) throws -> CredentialClaims {
    let bytes = try AtomicFile.readAny(folder.file("state/\(process)/bundle.json"))
    let bundle = try EnrolmentBundle(json: JSONParser.parse(bytes, limits: .foreign))
    return try CredentialClaims(claims: Self.claims(of: bundle.credential))
  }

  func certificate() throws -> Certificate {
    let bytes = try AtomicFile.readAny(folder.file("state/courier/bundle.json"))
    return try Certificate(
      pem: EnrolmentBundle(json: JSONParser.parse(bytes, limits: .foreign)).tlsCertificate)
  }

  static func claims(of token: String) throws -> JSON {
    guard let payload = Base64URL.decode(token.split(separator: ".")[1]) else { throw Failure(description: token) }
    return try JSONParser.parse(payload)
  }

  var log: String {
    ["courier.log", "attester.log"].map { name in
      (try? AtomicFile.readAny(folder.file(name))).map { String(decoding: $0.suffix(2_000), as: UTF8.self) } ?? ""
    }.joined(separator: "\n")
  }
}
