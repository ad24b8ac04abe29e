/// What one probe saw: facts only. ``Judge`` makes checks and findings of them.
public struct ProbeResult: Sendable {
  public var subjects: [Subject] = []
  public var doors: [Door] = []
  public var passwordPolicy: PasswordPolicy?
  /// Facts worth a finding of their own beside the doors (a dormant door, a latent key slot).
  public var remarks: [Remark] = []
  /// Inputs that could not be read, where no door can carry the unknown.
  public var gaps: [Gap] = []
  /// nil where this probe has no say.
  public var biometrics: Biometrics?
  /// Rows of other users were left out.
  public var isRestricted = false

  public init() {}

  public mutating func add(_ other: ProbeResult) {
    subjects += other.subjects
    doors += other.doors
    passwordPolicy = other.passwordPolicy ?? passwordPolicy
    remarks += other.remarks
    gaps += other.gaps
    biometrics = other.biometrics ?? biometrics
    isRestricted = isRestricted || other.isRestricted
  }

  /// Keeps what is about these users, and what is about everybody.
  public mutating func restrict(to users: [String]) {
    isRestricted = true
    subjects.removeAll { !users.contains($0.name) }
    doors.removeAll { $0.subject != "*" && !users.contains($0.subject) }
    remarks.removeAll { $0.subject != "*" && !users.contains($0.subject) }
  }
}

/// A finding that no open or unknown door stands for.
public struct Remark: Hashable, Sendable {
  public var cause: Cause
  public var check: CheckName
  /// A user, or `*`.
  public var subject: String
  public var door: String?

  public init(_ cause: Cause, check: CheckName, subject: String = "*", door: String? = nil) {
    self.cause = cause
    self.check = check
    self.subject = subject
    self.door = door
  }
}

/// Something that a check needs and that could not be read: the check is at best `not-run`.
public struct Gap: Hashable, Sendable {
  public var checks: [CheckName]
  public var cause: Cause

  public init(_ cause: Cause, checks: [CheckName]) {
    self.checks = checks
    self.cause = cause
  }
}

/// Whether a finger or a face can open anything for an owner.
public struct Biometrics: Hashable, Sendable {
  /// `success`: a service asks for it, a reader is there and an owner has a print. `absent`, `notRun`: see the reason.
  public var result: CheckResult
  /// The words of LAError: `biometryNotAvailable` `biometryNotEnrolled` `biometryLockout` …
  public var cause: Cause

  public init(result: CheckResult, cause: Cause) {
    self.result = result
    self.cause = cause
  }
}
