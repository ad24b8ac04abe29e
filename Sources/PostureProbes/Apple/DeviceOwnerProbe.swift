public import Posture

/// The auth-policy question on an Apple device: what LAContext says of owner authentication and of biometrics.
public struct DeviceOwnerProbe: Sendable {
  private let policy: any DeviceOwnerPolicy

  public init(_ policy: any DeviceOwnerPolicy) { self.policy = policy }

  /// The subject `owner` and the door `deviceOwnerAuthentication`.
  public func run() -> ProbeResult {
    let owner = policy.canEvaluate(.deviceOwnerAuthentication)
    let finger = policy.canEvaluate(.deviceOwnerAuthenticationWithBiometrics)
    var result = ProbeResult()
    result.subjects = [subject(owner)]
    result.doors = [door(owner, finger)]
    result.biometrics = biometrics(finger)
    return result
  }

  private func subject(_ answer: PolicyAnswer) -> Subject {
    let password: Subject.Password =
      switch answer.error {
      case nil: .set
      case .passcodeNotSet: .empty
      default: .unreadable
      }
    return Subject(name: "owner", uid: nil, kind: .owner, account: .active, password: password)
  }

  private func door(_ owner: PolicyAnswer, _ finger: PolicyAnswer) -> Door {
    let opening: Opening? =
      switch owner.error {
      case nil: finger.error == nil ? Opening([.biometric], [.passcode]) : .passcode
      case .passcodeNotSet: .always
      default: nil
      }
    let reason = owner.error?.reason ?? "canEvaluate"
    let cause = owner.error.map {
      Cause($0 == .passcodeNotSet ? "passcodeNotSet" : "unknownDoor", observed: "canEvaluatePolicy: \($0.reason)")
    }
    return Door(
      "deviceOwnerAuthentication", .entry, "owner", opening,
      because: [Reason("localAuthentication.\(reason)")], cause: cause)
  }

  private func biometrics(_ finger: PolicyAnswer) -> Biometrics {
    let observed = "deviceOwnerAuthenticationWithBiometrics (\(finger.biometry))"
    guard let error = finger.error else {
      return Biometrics(result: .success, cause: Cause("biometryAvailable", observed: observed))
    }
    return Biometrics(
      result: error.meansNoBiometry ? .absent : .notRun, cause: Cause(error.reason, observed: observed))
  }
}

/// Both questions together, by the rule of the classic helper: the policy's word where it has one, the Keychain's otherwise.
///
/// Differences from the classic helper: a Keychain status that proves nothing stays unknown instead of "no passcode"; the
/// item is deleted again; and where policy and Keychain contradict each other, the answer is unknown and says so.
public struct AppleProbe: Sendable {
  private let policy: DeviceOwnerProbe
  private let keychain: KeychainRoundTrip

  public init(_ policy: any DeviceOwnerPolicy, _ keychain: KeychainRoundTrip) {
    self.policy = DeviceOwnerProbe(policy)
    self.keychain = keychain
  }

  public func run() -> ProbeResult {
    var result = policy.run()
    let stored = keychain.run()
    result.add(stored)
    guard let entry = result.doors.first, let store = stored.doors.first else { return result }
    if entry.opening == nil { adopt(store, into: &result) }
    if contradict(entry, store) { doubt(&result) }
    return result
  }

  /// The Keychain's word for a passcode that the policy could not tell.
  private func adopt(_ store: Door, into result: inout ProbeResult) {
    guard let opening = store.opening else { return }
    let isSet = opening.answer == .required
    result.subjects[0].password = isSet ? .set : .empty
    result.doors[0].opening = isSet ? .passcode : .always
    result.doors[0].because += store.because
    result.doors[0].cause = isSet ? nil : Cause("passcodeNotSet", observed: store.cause?.observed ?? "")
  }

  private func contradict(_ entry: Door, _ store: Door) -> Bool {
    guard entry.opening != nil, store.opening != nil else { return false }
    return (entry.answer == .required) != (store.answer == .required)
  }

  private func doubt(_ result: inout ProbeResult) {
    result.subjects[0].password = .unreadable
    for index in result.doors.indices {
      result.doors[index].opening = nil
      result.doors[index].cause = Cause("unknownDoor", observed: "LocalAuthentication and the Keychain disagree")
    }
  }
}
