/// What one examination of a system found: the document of `schemas/evidence.schema.json`.
public struct Evidence: Hashable, Sendable {
  public static let schema = "evidence/1"

  /// Name of the policy the verdict was given by.
  public var policy: String
  public var verdict: Verdict
  /// Each of the ten, once, in their order.
  public var checks: [Check]
  public var subjects: [Subject]
  public var doors: [Door]
  public var passwordPolicy: PasswordPolicy
  /// Worst first.
  public var findings: [Finding]

  public subscript(check: CheckName) -> Check? { checks.first { $0.name == check } }
}
