public import Posture

/// Adds a secret that can exist only while a passcode is set and on this device, reads it back, and always deletes it.
public struct KeychainRoundTrip: Sendable {
  /// Fixed, so that what a crashed run left behind is found.
  public static let service = "org.posture.agent.round-trip"

  private let keychain: any Keychain
  private let random: @Sendable (Int) -> [UInt8]

  /// `random` gives as many bytes as it is asked for.
  public init(_ keychain: any Keychain, random: @escaping @Sendable (Int) -> [UInt8]) {
    self.keychain = keychain
    self.random = random
  }

  /// The door `secrets@keychain:this-device`.
  public func run() -> ProbeResult {
    removeLeftovers()
    // An account of this run alone. Where another run takes the item for a leftover, the answer is unknown, never wrong.
    let item = KeychainItem(
      service: Self.service, account: random(16).map { String($0, radix: 16) }.joined(separator: "-"))
    let secret = random(32)
    let added = keychain.add(item, secret: secret)
    defer { _ = keychain.delete(item) }
    var result = ProbeResult()
    result.doors = [door(added, readsBack: added == .success && reads(item, secret))]
    return result
  }

  private func removeLeftovers() {
    for account in keychain.accounts(of: Self.service) {
      _ = keychain.delete(KeychainItem(service: Self.service, account: account))
    }
  }

  private func reads(_ item: KeychainItem, _ secret: [UInt8]) -> Bool {
    let read = keychain.read(item)
    return read.status == .success && read.secret == secret
  }

  private func door(_ added: KeychainStatus, readsBack: Bool) -> Door {
    var opening: Opening?
    var code: String
    var proof = Door.Proof(.roundTrip, .failed)
    switch added.meaningOfAdd {
    case .passcodeSet where added == .success && !readsBack:
      code = "keychain.readFailed"
    case .passcodeSet:
      (opening, code, proof.result) = (Opening([.device, .passcode]), "keychain.whenPasscodeSet", .ok)
    case .passcodeNotSet:
      // Whatever the Keychain holds then opens with the device alone.
      (opening, code, proof.result) = (Opening([.device]), "keychain.passcodeNotSet", .refused)
    case .nothing(let reason):
      (code, proof.result) = ("keychain.\(reason)", .refused)
    }
    proof.reason = "OSStatus \(added.rawValue)"
    let cause =
      opening?.answer == .required
      ? nil
      : Cause(
        opening == nil ? "unknownDoor" : "passcodeNotSet", observed: "SecItemAdd: \(added.rawValue)")
    var door = Door(
      "secrets@keychain:this-device", .secret, "owner", opening, because: [Reason(code)], cause: cause)
    door.isDefault = true
    door.proof = proof
    return door
  }
}
