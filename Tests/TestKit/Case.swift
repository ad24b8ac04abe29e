import Glibc
public import Posture
import PosturePlatform

/// A situation of Tests/Cases: a tree, a policy, and what has to come out.
public struct Case: Sendable, CustomStringConvertible {
  public let folder: String
  public let expected: Expectations
  public let policy: Policy

  public var description: String { Path.name(of: folder) }

  /// Every case, in the order of their numbers.
  public static let all: [Case] = {
    let top = Repository.path("Tests/Cases")
    return FolderListing.names(top).filter { access("\(top)/\($0)/root", F_OK) == 0 }.map { Case("\(top)/\($0)") }
  }()

  private init(_ folder: String) {
    self.folder = folder
    expected = Expectations("\(folder)/want.json")
    let own = try? JSONParser.parse(AtomicFile.readAny("\(folder)/policy.json"))
    policy = own.map { try! Policy(json: $0) } ?? .entry
  }

  /// Services that the assertions ask about: `pam@NAME`.
  public var services: [String] {
    expected.want.compactMap { $0["door"]?.string }.filter { $0.hasPrefix("pam@") }.map { String($0.dropFirst(4)) }
  }

  /// Puts each link's target as text into a file in its place.
  private static let withoutLinks = #"""
    find "$1" -type l -exec sh -c 'for link; do target=$(readlink "$link"); rm "$link"; printf %s "$target" >"$link"; done' _ {} +
    """#

  /// Runs `body` with a copy of the tree that has its modes and belongs to root (where we are root); `hasLinks` false:
  /// as a program leaves it that knows no links.
  public func staged<Result>(hasLinks: Bool = true, _ body: (String) throws -> Result) throws -> Result {
    try TemporaryFolder.with { top in
      chmod(top, 0o755)
      let root = "\(top)/root"
      _ = try Command("/bin/cp", ["-a", "\(folder)/root", root]).run()
      if !hasLinks { _ = try Command("/bin/sh", ["-c", Self.withoutLinks, "_", root]).run() }
      if geteuid() == 0 { _ = try Command("/bin/chown", ["-hR", "0:0", root]).run() }
      let modes = (try? AtomicFile.readAny("\(folder)/modes.txt")).map { String(decoding: $0, as: UTF8.self) } ?? ""
      for line in modes.split(separator: "\n") {
        let words = line.split(separator: " ", maxSplits: 1)
        chmod("\(root)/\(words[1])", mode_t(words[0], radix: 8)!)
      }
      return try body(root)
    }
  }

  /// What does not hold, in words.
  public func faults(of evidence: Evidence) -> [String] { expected.faults(of: evidence) }
}

/// What has to come out, written by hand in a file.
public struct Expectations: Sendable {
  public let want: [JSON]

  public init(_ path: String) {
    let want = try! JSONParser.parse(try! AtomicFile.readAny(path), limits: .foreign)
    self.want = want["assert"]?.array ?? []
  }

  /// What does not hold, in words.
  public func faults(of evidence: Evidence) -> [String] {
    want.compactMap { assertion in
      CaseAssertion(assertion).fault(evidence).map { "\(assertion.text): found \($0)" }
    }
  }

  /// The same of what `check --json` printed.
  public func faults(ofJSON json: JSON) -> [String] {
    want.compactMap { assertion in
      JSONAssertion(assertion, json).fault.map { "\(assertion.text): found \($0)" }
    }
  }
}

/// An assertion held against printed evidence: doors, checks, the verdict.
private struct JSONAssertion {
  private let assertion: JSON
  private let evidence: JSON

  init(_ assertion: JSON, _ evidence: JSON) {
    self.assertion = assertion
    self.evidence = evidence
  }

  private func find(_ list: String, _ names: [String]) -> JSON? {
    evidence[list]?.array?.first { row in names.allSatisfy { row[$0] == assertion[$0] } }
  }

  var fault: String? {
    if let verdict = assertion["verdict"] {
      return evidence["verdict"] == verdict ? nil : evidence["verdict"]?.text ?? "nothing"
    }
    let isDoor = assertion["door"] != nil
    guard let row = isDoor ? find("doors", ["door", "subject"]) : find("checks", ["check"]) else {
      return "no such row"
    }
    let members = isDoor ? ["answer", "opensWith"] : ["result"]
    return members.contains { assertion[$0] != nil && assertion[$0] != row[$0] } ? row.text : nil
  }
}

/// One line of want.json.
struct CaseAssertion {
  private let json: JSON

  init(_ json: JSON) { self.json = json }

  /// nil if it holds, else what was found.
  func fault(_ evidence: Evidence) -> String? {
    if let door = json["door"] ?? json["default_secret"] { return doorFault(evidence, door.string ?? "") }
    if let verdict = json["verdict"] { return among(evidence.verdict.rawValue, verdict) }
    if let limit = json["severity_at_most"]?.string.flatMap(Finding.Severity.init(rawValue:)) {
      let above = evidence.findings.filter { $0.severity > limit }
      return above.isEmpty ? nil : above.map { "\($0.severity.rawValue) \($0.code)" }.joined(separator: " ")
    }
    if let path = json["policy"]?.string { return policyFault(evidence, path) }
    if let check = json["check"]?.string {
      return among(evidence.checks.first { $0.name.rawValue == check }?.result.rawValue, json["result"])
    }
    guard let subject = evidence.subjects.first(where: { $0.name == json["subject"]?.string }) else {
      return "no such subject"
    }
    if let password = json["password"] { return among(subject.password.rawValue, password) }
    if let account = json["account"] { return among(subject.account.rawValue, account) }
    return among(subject.scheme, json["scheme"])
  }

  private func doorFault(_ evidence: Evidence, _ name: String) -> String? {
    let rows = evidence.doors.filter { $0.name == name && $0.subject == json["subject"]?.string }
    if json["absent"] != nil { return rows.isEmpty ? nil : "answer \(rows[0].answer)" }
    guard rows.count == 1, let row = rows.first else { return "\(rows.count) rows" }
    if json["default_secret"] != nil, !row.isDefault { return "not the default" }
    let found = "\(row.answer) \(row.opening?.json.text ?? "null") \(row.because)"
    guard among(row.answer.rawValue, json["answer"]) == nil else { return found }
    guard let wanted = json["opensWith"] else { return nil }
    return canonical(wanted) == canonical(row.opening?.json) ? nil : found
  }

  private func policyFault(_ evidence: Evidence, _ path: String) -> String? {
    let names = path.split(separator: ".").map(String.init)
    let found = names.reduce(evidence.json["passwordPolicy"]) { $0?[$1] }
    return found == json["value"] ? nil : found?.text ?? "nothing"
  }

  private func among(_ found: String?, _ wanted: JSON?) -> String? {
    guard let found else { return "nothing" }
    let words = wanted?.strings ?? [wanted?.string].compactMap { $0 }
    return words.contains(found) ? nil : found
  }

  private func canonical(_ sets: JSON?) -> [[String]]? {
    sets?.array?.compactMap { $0.strings?.sorted() }.sorted { $0.joined(separator: ",") < $1.joined(separator: ",") }
  }
}
