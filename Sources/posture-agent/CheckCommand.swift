import Posture
import PostureAttester
import PosturePlatform
import PostureProbes
import PostureTerminal

/// `posture-agent check`: one examination, printed.
struct CheckCommand {
  private enum Format: String, CaseIterable {
    case table
    case json = "--json"
    case junit = "--junit"
    case token = "--token"
  }

  private var root = "/"
  private var policy = Policy.entry
  private var format = Format.table
  private var services: [String]
  private var users: [String]
  /// For `--token`.
  private var signer: SignedCheck?

  init(_ arguments: inout Arguments) throws(UsageError) {
    let formats = Format.allCases.filter { arguments.flag($0.rawValue) }
    guard formats.count <= 1 else {
      throw UsageError("\(formats.map(\.rawValue).joined(separator: " and ")) exclude each other")
    }
    format = formats.first ?? .table
    root = try arguments.option("--root") ?? "/"
    services = try arguments.options("--service")
    users = try arguments.options("--user")
    if let name = try arguments.option("--policy") { policy = try Self.policy(named: name) }
    if format == .token { signer = try SignedCheck(&arguments) }
    try arguments.end()
  }

  private static func policy(named name: String) throws(UsageError) -> Policy {
    if let shipped = Policy.shipped.first(where: { $0.name == name }) { return shipped }
    do {
      let file = try Descriptor.open(name, 0)
      guard let bytes = try file.readAll(cap: 65_536, name) else { throw UsageError("\(name): larger than 64 KiB") }
      return try Policy(json: try JSONParser.parse(bytes))
    } catch {
      throw UsageError("policy \(name): \(error)")
    }
  }

  func run() -> Int32 {
    Heap.releaseCode()
    let system: System
    do throws(SystemError) { system = try System(root: root) } catch {
      Terminal.error("posture-agent: \(error)")
      return ExitStatus.failed
    }
    let facts = DeviceProbe(services: services, users: users).run(on: system)
    let evidence = Judge.evidence(of: facts, under: policy)
    switch format {
    case .table: EvidenceView.show(evidence, policy)
    case .json: Terminal.out(evidence.json.text)
    case .junit: Terminal.out(evidence.junit(policy))
    case .token: guard show(token: evidence) else { return ExitStatus.failed }
    }
    return ExitStatus.of(evidence.verdict)
  }

  private func show(token evidence: Evidence) -> Bool {
    let isPlain = root == "/" && services.isEmpty && users.isEmpty && policy == .entry
    do throws(AttesterError) {
      if let token = try signer?.token(evidence, policy, isPlain: isPlain) { Terminal.out(token) }
      return true
    } catch {
      Terminal.error("posture-agent check --token: \(error)")
      return false
    }
  }
}
