/// Something that is not as it should be, or that is worth knowing, with its proof.
public struct Finding: Hashable, Sendable {
  public enum Severity: String, Sendable, Comparable {
    case info, medium, high

    public static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }
    private var rank: Int {
      switch self {
      case .info: 0
      case .medium: 1
      case .high: 2
      }
    }
  }

  /// `f1` …, within one report.
  public var id: String
  public var code: String
  public var severity: Severity
  public var check: CheckName
  /// A user, or `*` where it is about everybody or several.
  public var subject: String
  public var door: String?
  public var observed: String
  public var evidence: [Place]
  public var advice: String
  /// Seconds since the epoch when the agent first saw it; nil in a one-shot check.
  public var since: Int64?

  /// What makes it the same finding in a later report.
  public var identity: String { [code, check.rawValue, subject, door ?? ""].joined(separator: "\u{1F}") }
}

/// One line of the result.
public struct Check: Hashable, Sendable {
  public var name: CheckName
  public var result: CheckResult
  public var required: Bool
  /// Ids of its findings.
  public var findings: [String]
  /// A word for a result that explains itself: `passcodeNotSet`, `biometryNotEnrolled`, `portable`, `notBound`.
  public var reason: String?
}

public enum Verdict: String, Sendable, CaseIterable {
  case pass, fail, unknown
}
