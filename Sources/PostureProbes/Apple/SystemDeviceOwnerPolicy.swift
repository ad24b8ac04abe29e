#if canImport(LocalAuthentication)
  import Foundation
  import LocalAuthentication

  /// LocalAuthentication of this device.
  public struct SystemDeviceOwnerPolicy: DeviceOwnerPolicy {
    public init() {}

    public func canEvaluate(_ policy: LocalPolicy) -> PolicyAnswer {
      let context = LAContext()
      var error: NSError?
      let asked: LAPolicy =
        switch policy {
        case .deviceOwnerAuthentication: .deviceOwnerAuthentication
        case .deviceOwnerAuthenticationWithBiometrics: .deviceOwnerAuthenticationWithBiometrics
        }
      let can = context.canEvaluatePolicy(asked, error: &error)
      let biometry = PolicyAnswer.Biometry(rawValue: context.biometryType.rawValue) ?? .none
      return PolicyAnswer(error: can ? nil : LocalError(code: error?.code ?? 0), biometry: biometry)
    }
  }
#endif
