/// What a new password has to satisfy when the owner runs `passwd`: the values that win.
public struct PasswordPolicy: Hashable, Sendable {
  /// One rule of the three; `values` in the order to be printed, null where not set.
  public struct Rule: Hashable, Sendable {
    /// A stack that `passwd` reaches really loads the module; nil where that cannot be told.
    public var enforced: Bool?
    public var values: [JSON.Member]
    public var because: [Reason]

    public init(enforced: Bool?, values: [JSON.Member] = [], because: [Reason] = []) {
      self.enforced = enforced
      self.values = values
      self.because = because
    }
  }

  /// minlen, difok, dictcheck, minclass, dcredit, ucredit, lcredit, ocredit, maxrepeat, retry, enforceForRoot …
  public var quality: Rule
  /// remember.
  public var history: Rule
  /// deny, unlockTime, failInterval, evenDenyRoot.
  public var lockout: Rule

  public init(quality: Rule, history: Rule, lockout: Rule) {
    self.quality = quality
    self.history = history
    self.lockout = lockout
  }

  /// Nothing could be read.
  public static let unknown = PasswordPolicy(
    quality: Rule(enforced: nil), history: Rule(enforced: nil), lockout: Rule(enforced: nil))
}
