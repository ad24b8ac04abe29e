import Posture
import PostureProbes
import TestKit
import Testing

struct DeviceProbeTests {
  /// What the two probes find one after the other.
  @Test(arguments: Case.all.prefix(12))
  func `both at once find the same in the same order, whatever the timing`(_ situation: Case) throws {
    try situation.staged { root in
      let system = try System(root: root)
      var expected = AuthPolicyProbe(services: situation.services).run(on: system)
      expected.add(KeyringProbe().run(on: system))
      for _ in 0..<5 {
        weak var left: System?
        let facts = try {
          let system = try System(root: root)
          left = system
          return DeviceProbe(services: situation.services).run(on: system)
        }()
        #expect(Self.text(facts) == Self.text(expected))
        #expect(left == nil, "a thread or what it made holds the system")
      }
    }
  }

  private static func text(_ facts: ProbeResult) -> String { Judge.evidence(of: facts, under: .entry).json.text }
}
