import Glibc
public import Posture
import PosturePlatform
import PostureTokens

/// The two key files of a device: that of the signing key, which may lie in the TPM, and that of TLS.
struct DeviceKeys {
  let folder: DeviceFolder
  let attester: Privilege.User?
  let courier: Privilege.User?

  /// The signing key for a request: the one that is there, or a new one.
  func signing(_ wish: KeyWish?, isNext: Bool) throws(AttesterError) -> any SigningKey {
    let path = isNext ? Self.next(folder.attesterKey) : folder.attesterKey
    if isNext, access(path, F_OK) != 0 { try forgetPrevious() }
    guard access(path, F_OK) == 0 else { return try make(wish ?? .file, path) }
    let content = try read(path)
    // What is asked for and what is there are not the same: nothing is to take the one for the other.
    if let wish, wish.protection != content.protection {
      throw AttesterError(
        .badRequest, "\(path) is a \(content.protection.rawValue) key; --new-keys makes another one")
    }
    return try open(content)
  }

  /// - Parameter makes: a missing one is made.
  func transport(isNext: Bool, makes: Bool) throws(AttesterError) -> FileKey {
    let path = isNext ? Self.next(folder.courierKey) : folder.courierKey
    return try Privilege.acting(as: courier) { () throws(AttesterError) in
      do throws(KeyError) {
        if !makes || access(path, F_OK) == 0 { return try FileKey.load(path) }
        let key = try FileKey.generate()
        try key.save(path)
        return key
      } catch { throw AttesterError(makes ? .internal : .notEnrolled, error.description) }
    }
  }

  static func next(_ path: String) -> String { "\(path).next" }
  private var previous: String { "\(folder.attesterKey).previous" }

  private func make(_ wish: KeyWish, _ path: String) throws(AttesterError) -> any SigningKey {
    do throws(KeyError) {
      switch wish {
      case .file:
        let key = try FileKey.generate()
        try save { () throws(KeyError) in try key.save(path) }
        return key
      case .tpm(let tcti):
        // As root, who may use the TPM; the attester's user need not be a member of its group before it runs.
        let key = try TPMKey.create(tcti: tcti)
        try save { () throws(KeyError) in try TPMReference(key, tcti: tcti).save(to: path) }
        return key
      }
    } catch { throw AttesterError(.signing, error.description) }
  }

  private func save(_ body: () throws(KeyError) -> Void) throws(KeyError) {
    do throws(AttesterError) {
      try Privilege.acting(as: attester) { () throws(AttesterError) in
        do throws(KeyError) { try body() } catch { throw AttesterError(.internal, error.description) }
      }
    } catch { throw KeyError(.file, error.why) }
  }

  // MARK: The bundle's key

  func read(_ path: String) throws(AttesterError) -> KeyFile.Content {
    try Privilege.acting(as: attester) { () throws(AttesterError) in
      do throws(KeyError) { return try KeyFile.read(path) } catch {
        throw AttesterError(.notEnrolled, error.description)
      }
    }
  }

  func open(_ content: KeyFile.Content) throws(AttesterError) -> any SigningKey {
    do throws(KeyError) { return try content.open() } catch { throw AttesterError(.signing, error.description) }
  }

  /// Puts the new keys in the place of the old ones. An attester that runs goes on with the old key until it is started
  /// again, so a key in the TPM stays there until the keys are changed the next time.
  func replace() throws(AttesterError) {
    try Privilege.acting(as: attester) { () throws(AttesterError) in
      do throws(SystemError) {
        try retrying("rename", folder.attesterKey) { rename(folder.attesterKey, previous) }
        try retrying("rename", folder.attesterKey) { rename(Self.next(folder.attesterKey), folder.attesterKey) }
      } catch { throw AttesterError(.internal, error.description) }
    }
    try Privilege.acting(as: courier) { () throws(AttesterError) in
      do throws(SystemError) {
        try retrying("rename", folder.courierKey) { rename(Self.next(folder.courierKey), folder.courierKey) }
      } catch { throw AttesterError(.internal, error.description) }
    }
  }

  private func forgetPrevious() throws(AttesterError) {
    guard access(previous, F_OK) == 0 else { return }
    if case .reference(let reference) = try read(previous) {
      // Gone already, or the TPM is another one: nothing to take out.
      try? TPMKey.remove(reference)
    }
    try Privilege.acting(as: attester) { () throws(AttesterError) in _ = unlink(previous) }
  }
}

/// Where a new signing key is to live.
public enum KeyWish: Hashable, Sendable {
  case file
  /// `tcti`: how to reach the TPM, as tpm2-tss writes it; nil: its default.
  case tpm(tcti: String?)

  public var protection: KeyProtection {
    switch self {
    case .file: .file
    case .tpm: .tpm
    }
  }
}
