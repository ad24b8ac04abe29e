import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// The search for files and the per-group fallback, judged by libpam over folders of its own.
@Suite(
  .serialized, .enabled(if: PAMJudge.isHere && PAMJudge.hasNamespaces, "needs cc, libpam, root and mount namespaces"))
struct PAMSearchTests {
  @Test(.timeLimit(.minutes(2)))
  func `files of both folders and includes by name are found as libpam finds them`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("PAM search seed \(seed)")
    var dice = SplitMix(seed)
    let tree = try JudgedTree()
    var makers = RandomStacks(seed: seed, modules: try #require(PAMJudge.moduleFolder))
    let services = 400
    for index in 0..<services {
      for (name, text) in makers.files(prefix: "t\(index)-") {
        let folder = Int.random(in: 0..<4, using: &dice) == 0 ? "/usr/lib/pam.d" : "/etc/pam.d"
        try tree.files.write("\(folder)/t\(index)-\(name)", text)
        // The same name in the other folder must not be read, or only where the first is missing.
        if Int.random(in: 0..<4, using: &dice) == 0, folder == "/etc/pam.d" {
          try tree.files.write("/usr/lib/pam.d/t\(index)-\(name)", "auth required pam_deny.so\n")
        }
      }
    }
    try tree.files.write(
      "/etc/pam.d/other", "auth optional pam_debug.so auth=cred_err\naccount required pam_permit.so\n")
    let phases = ["auth", "account"]
    let questions = (0..<services).flatMap { index in
      phases.map { PAMJudge.Question(folder: "-", service: "t\(index)-svc", phase: $0) }
    }
    let theirs = try PAMJudge().ask(questions, mounts: tree.mounts(["/etc/pam.d", "/usr/lib/pam.d"]))
    let pam = try tree.pam()
    for (question, answer) in zip(questions, theirs) {
      guard let ours = Self.ours(pam, question.service, question.phase == "auth" ? .auth : .account) else { continue }
      #expect(ours == answer, "seed \(seed) \(question.service) \(question.phase)")
    }
  }

  private static func ours(_ pam: PAM, _ service: String, _ group: PAM.Group) -> String? {
    switch pam.stacks(of: service) {
    case .failure: return "start 26"
    case .success(let stacks):
      guard stacks.own.doubt == nil, stacks.other.doubt == nil else { return nil }
      let entries = stacks[group]
      let code = PAM.Evaluator.run(entries) { index in
        let entry = entries[index]
        if PAM.ModuleModels.name(of: entry.module) == "deny" { return .authenticationError }
        guard pam.modules.has(entry.module) else { return .moduleUnknown }
        return PAM.DebugModule.code(entry.arguments, group)
      }
      return "\(code.number)"
    }
  }
}

/// A tree for us, whose files the judge sees over those of the system.
struct JudgedTree {
  let files: FixtureTree

  init() throws {
    files = try FixtureTree()
    let system = try System()
    if let version = PAM.Version.find(system, Distribution(system)) {
      try files.write("/var/lib/dpkg/status", "Package: libpam0g\nVersion: \(version)\n\n")
    }
    try files.write("/etc/os-release", system.text("/etc/os-release") ?? "")
    let modules = PAMJudge.moduleFolder ?? ""
    for name in FolderListing.names(modules) { try files.write("\(modules)/\(name)", "") }
  }

  func mounts(_ paths: [String]) -> [(source: String, target: String)] { paths.map { (files.place($0), $0) } }

  func pam() throws -> PAM {
    let system = try System(root: files.root)
    return PAM(system, Distribution(system), Accounts(system))
  }
}
