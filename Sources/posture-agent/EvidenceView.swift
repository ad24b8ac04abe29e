import Posture
import PostureTerminal

/// Evidence of this machine on the terminal: each check with its result, why, and what to do.
enum EvidenceView {
  static func show(_ evidence: Evidence, _ policy: Policy) {
    EvidenceLines(evidence.json).checks(width: Terminal.width).forEach(Terminal.out)
    Terminal.out("")
    Terminal.out(Terminal.paint("verdict: \(evidence.summary(policy))", colour(evidence.verdict)))
    Terminal.out(Terminal.paint("* required by the policy", .dim))
  }

  private static func colour(_ verdict: Verdict) -> Terminal.Colour {
    switch verdict {
    case .pass: .green
    case .fail: .red
    case .unknown: .yellow
    }
  }
}
