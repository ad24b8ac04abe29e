/// What LocalAuthentication says about one policy. One implementation calls LAContext, the other follows a script in tests.
public protocol DeviceOwnerPolicy: Sendable {
  /// `canEvaluatePolicy` on a context made for this call alone: a context remembers an earlier answer.
  func canEvaluate(_ policy: LocalPolicy) -> PolicyAnswer
}

/// LAPolicy.
public enum LocalPolicy: Int, Sendable, CaseIterable {
  case deviceOwnerAuthenticationWithBiometrics = 1
  case deviceOwnerAuthentication = 2
}

public struct PolicyAnswer: Hashable, Sendable {
  /// nil: the policy can be evaluated.
  public var error: LocalError?
  /// Valid after `canEvaluatePolicy` only.
  public var biometry: Biometry

  public init(error: LocalError?, biometry: Biometry) {
    self.error = error
    self.biometry = biometry
  }

  /// LABiometryType.
  public enum Biometry: Int, Sendable {
    case none = 0
    case touchID = 1
    case faceID = 2
    case opticID = 4
  }
}

/// A code of LAError (LAError.h).
public enum LocalError: Hashable, Sendable {
  case authenticationFailed, userCancel, userFallback, systemCancel, passcodeNotSet
  case biometryNotAvailable, biometryNotEnrolled, biometryLockout
  case appCancel, invalidContext, companionNotAvailable, biometryNotPaired, biometryDisconnected
  case invalidDimensions, notInteractive
  case other(Int)

  public init(code: Int) {
    self =
      switch code {
      case -1: .authenticationFailed
      case -2: .userCancel
      case -3: .userFallback
      case -4: .systemCancel
      case -5: .passcodeNotSet
      case -6: .biometryNotAvailable
      case -7: .biometryNotEnrolled
      case -8: .biometryLockout
      case -9: .appCancel
      case -10: .invalidContext
      case -11: .companionNotAvailable
      case -12: .biometryNotPaired
      case -13: .biometryDisconnected
      case -14: .invalidDimensions
      case -1004: .notInteractive
      default: .other(code)
      }
  }

  /// Our reason code: LAError's own word.
  public var reason: String {
    if case .other(let code) = self { return "localAuthenticationError\(code)" }
    return "\(self)"
  }

  /// The error says that there is nothing to be had, not that it could not be asked.
  var meansNoBiometry: Bool {
    switch self {
    case .biometryNotAvailable, .biometryNotEnrolled, .biometryNotPaired, .biometryDisconnected, .passcodeNotSet: true
    default: false
    }
  }
}
