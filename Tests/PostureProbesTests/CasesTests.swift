import Posture
import PostureProbes
import TestKit
import Testing

/// Real situations and their right answers.
struct CasesTests {
  @Test func `there are cases`() { #expect(Case.all.count > 90) }

  @Test(arguments: Case.all)
  func situation(_ situation: Case) throws {
    try situation.staged { root in
      let system = try System(root: root)
      var facts = AuthPolicyProbe(services: situation.services).run(on: system)
      facts.add(KeyringProbe().run(on: system))
      let evidence = Judge.evidence(of: facts, under: situation.policy)
      for fault in situation.faults(of: evidence) { Issue.record("\(fault)") }
    }
  }
}
