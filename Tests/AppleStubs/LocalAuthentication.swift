// The declarations of Apple's LocalAuthentication framework that SystemDeviceOwnerPolicy uses.
public import Foundation

public enum LAPolicy: Int {
  case deviceOwnerAuthenticationWithBiometrics = 1
  case deviceOwnerAuthentication = 2
}

public enum LABiometryType: Int {
  case none = 0
  case touchID = 1
  case faceID = 2
  case opticID = 4
}

open class LAContext {
  public init() {}
  open func canEvaluatePolicy(_ policy: LAPolicy, error: UnsafeMutablePointer<NSError?>?) -> Bool { false }
  open var biometryType: LABiometryType { .none }
}
