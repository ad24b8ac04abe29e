import Posture
import PostureProbes
import TestKit
import Testing

/// Real situations and their right answers.
struct CasesTests {
  @Test func `there are cases`() { #expect(Case.all.count > 90) }

  @Test(arguments: Case.all)
  func situation(_ situation: Case) throws { try judge(situation) }

  /// A copy that was made by a program that knows no links says the same.
  @Test(.enabled(if: Long.isWanted), arguments: Case.all)
  func `situation without links`(_ situation: Case) throws { try judge(situation, hasLinks: false) }

  private func judge(_ situation: Case, hasLinks: Bool = true) throws {
    try situation.staged(hasLinks: hasLinks) { root in
      weak var left: System?
      let facts = try {
        let system = try System(root: root)
        left = system
        return system.sharing {
          var facts = AuthPolicyProbe(services: situation.services).run(on: system)
          facts.add(KeyringProbe().run(on: system))
          return facts
        }
      }()
      #expect(left == nil, "what the probes share holds their system")
      let evidence = Judge.evidence(of: facts, under: situation.policy)
      for fault in situation.faults(of: evidence) { Issue.record("\(fault)") }
      for check in evidence.checks where check.result == .fail || check.result == .notRun {
        #expect(!check.findings.isEmpty || check.reason != nil, "\(check.name) is \(check.result) without a reason")
      }
    }
  }
}
