import Glibc
public import Posture
public import PosturePlatform
import PostureTokens

/// Makes this device's keys, asks for its credential, and installs what comes back. The keys never leave the device.
public struct DeviceEnrolment: Sendable {
  private let keys: DeviceKeys
  private var folder: DeviceFolder { keys.folder }
  private var attester: Privilege.User? { keys.attester }
  private var courier: Privilege.User? { keys.courier }

  /// - Parameters:
  ///   - attester: who is to own the signing key and the journal; nil: this process's user.
  ///   - courier: who is to own the TLS key; likewise.
  public init(_ folder: DeviceFolder, attester: Privilege.User?, courier: Privilege.User?) {
    keys = DeviceKeys(folder: folder, attester: attester, courier: courier)
  }

  // MARK: The request

  /// One line for whoever enrols this device, and the key's id to compare it by. Asking again names the same keys.
  /// - Parameters:
  ///   - renewing: with new keys, which take the place of the old ones when their bundle is installed.
  ///   - wish: where a new signing key is to live; nil: in a file. What is there already has to be of that kind.
  public func request(
    name: Name?, renewing: Bool = false, key wish: KeyWish? = nil
  ) throws(AttesterError) -> (request: String, kid: String) {
    try prepareFolders()
    let key = try keys.signing(wish, isNext: renewing)
    let tlsKey = try keys.transport(isNext: renewing, makes: true)
    do throws(EnrolmentError) {
      let request = try EnrolmentRequest.make(
        name: name, key: key, tlsKey: tlsKey, host: Self.hostName, at: max(Clock.wall, Release.date))
      return (request, key.publicKey.kid)
    } catch { throw AttesterError(.internal, error.description) }
  }

  private static var hostName: String? {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return nil }
    let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return text.isEmpty ? nil : text
  }

  private func prepareFolders() throws(AttesterError) {
    try makeFolder(folder.path, mode: 0o755, for: nil)
    try makeFolder(folder.attester, mode: 0o700, for: attester)
    try makeFolder(folder.courier, mode: 0o700, for: courier)
    try Privilege.acting(as: attester) { () throws(AttesterError) in
      do throws(SystemError) {
        if access(folder.deviceID, F_OK) != 0 {
          try AtomicFile.write(Array(Base64URL.encode([0x01] + Random.bytes(16)).utf8), to: folder.deviceID)
        }
        // A key that is there has used numbers: where the journal is lost, that must not look like a first start.
        if access(folder.attesterKey, F_OK) != 0 { try Journal.prepare(folder: folder.attester) }
      } catch { throw AttesterError(.internal, error.description) }
    }
  }

  private func makeFolder(_ path: String, mode: mode_t, for user: Privilege.User?) throws(AttesterError) {
    do throws(SystemError) {
      do throws(SystemError) { try retrying("mkdir", path) { mkdir(path, mode) } } catch {
        guard error.errno == EEXIST else { throw error }
        return
      }
      try retrying("chmod", path) { chmod(path, mode) }
      if let user, geteuid() == 0 { try retrying("chown", path) { lchown(path, user.uid, user.gid) } }
    } catch { throw AttesterError(.internal, error.description) }
  }

  // MARK: The bundle

  /// Checks that the bundle is for this device's keys and puts it where attester and courier look for it.
  public func install(_ bytes: [UInt8]) throws(AttesterError) -> Party {
    let bundle: EnrolmentBundle
    do {
      bundle = try EnrolmentBundle(json: try JSONParser.parse(bytes, limits: .init(bytes: 1 << 20, depth: 8)))
    } catch { throw AttesterError(.badRequest, "no bundle: \(error)") }
    guard bundle.role == .device else {
      throw AttesterError(.badRequest, "the bundle is for a \(bundle.role.rawValue)")
    }
    let isRenewed = access(DeviceKeys.next(folder.attesterKey), F_OK) == 0 && (try? check(bundle, isNext: true)) != nil
    if isRenewed { try keys.replace() } else { try check(bundle, isNext: false) }
    for (file, user) in [(folder.attesterBundle, attester), (folder.courierBundle, courier)] {
      try Privilege.acting(as: user) { () throws(AttesterError) in
        do throws(SystemError) { try AtomicFile.write(bundle.json.bytes, to: file) } catch {
          throw AttesterError(.internal, error.description)
        }
      }
    }
    return bundle.party
  }

  private func check(_ bundle: EnrolmentBundle, isNext: Bool) throws(AttesterError) {
    let path = isNext ? DeviceKeys.next(folder.attesterKey) : folder.attesterKey
    let key = try keys.open(keys.read(path))
    let tlsKey = try keys.transport(isNext: isNext, makes: false)
    do throws(EnrolmentError) {
      _ = try bundle.check(key: key.publicKey, tlsKey: tlsKey, at: DeviceClock.system(isTrusted: false).moment())
    } catch { throw AttesterError(.badRequest, error.description) }
  }
}
