import Glibc
public import Posture
public import PosturePlatform
import PostureTokens

/// Makes this device's keys, asks for its credential, and installs what comes back. The keys never leave the device.
public struct DeviceEnrolment: Sendable {
  private let folder: DeviceFolder
  private let attester: Privilege.User?
  private let courier: Privilege.User?

  /// - Parameters:
  ///   - attester: who is to own the signing key and the journal; nil: this process's user.
  ///   - courier: who is to own the TLS key; likewise.
  public init(_ folder: DeviceFolder, attester: Privilege.User?, courier: Privilege.User?) {
    self.folder = folder
    self.attester = attester
    self.courier = courier
  }

  // MARK: The request

  /// One line for whoever enrols this device, and the key's id to compare it by. Asking again names the same keys.
  /// - Parameter renewing: with new keys, which take the place of the old ones when their bundle is installed.
  public func request(
    name: Name?, renewing: Bool = false
  ) throws(AttesterError) -> (request: String, kid: String) {
    try prepareFolders()
    let key = try self.key(renewing ? next(folder.attesterKey) : folder.attesterKey, for: attester)
    let tlsKey = try self.key(renewing ? next(folder.courierKey) : folder.courierKey, for: courier)
    do throws(EnrolmentError) {
      let request = try EnrolmentRequest.make(
        name: name, key: key, tlsKey: tlsKey, host: Self.hostName, at: max(Clock.wall, Release.date))
      return (request, key.publicKey.kid)
    } catch { throw AttesterError(.internal, error.description) }
  }

  private func next(_ path: String) -> String { "\(path).next" }

  private func key(_ path: String, for user: Privilege.User?) throws(AttesterError) -> FileKey {
    try acting(as: user) { () throws(AttesterError) in
      do throws(KeyError) {
        if access(path, F_OK) == 0 { return try FileKey.load(path) }
        let key = try FileKey.generate()
        try key.save(path)
        return key
      } catch { throw AttesterError(.internal, error.description) }
    }
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
    try acting(as: attester) { () throws(AttesterError) in
      do throws(SystemError) {
        if access(folder.deviceID, F_OK) != 0 {
          try AtomicFile.write(Array(Base64URL.encode([0x01] + Random.bytes(16)).utf8), to: folder.deviceID)
        }
        try Journal.prepare(folder: folder.attester)
      } catch { throw AttesterError(.internal, error.description) }
    }
  }

  /// Root reads and writes a user's files as that user, so that they belong to whom they are for and a link in their
  /// folder leads nowhere that they could not go themselves.
  private func acting<Value>(
    as user: Privilege.User?, _ body: () throws(AttesterError) -> Value
  ) throws(AttesterError) -> Value {
    do throws(SystemError) { try Privilege.act(as: user) } catch { throw AttesterError(.internal, error.description) }
    defer { Privilege.actAsRootAgain(user) }
    return try body()
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
    let isRenewed = access(next(folder.attesterKey), F_OK) == 0 && (try? check(bundle, next)) != nil
    if !isRenewed { try check(bundle) { $0 } }
    for (key, file, user) in [
      (folder.attesterKey, folder.attesterBundle, attester), (folder.courierKey, folder.courierBundle, courier),
    ] {
      try acting(as: user) { () throws(AttesterError) in
        do throws(SystemError) {
          if isRenewed { try retrying("rename", key) { rename(next(key), key) } }
          try AtomicFile.write(bundle.json.bytes, to: file)
        } catch { throw AttesterError(.internal, error.description) }
      }
    }
    return bundle.party
  }

  private func check(_ bundle: EnrolmentBundle, _ path: (String) -> String) throws(AttesterError) {
    let key = try load(path(folder.attesterKey), of: attester)
    let tlsKey = try load(path(folder.courierKey), of: courier)
    do throws(EnrolmentError) {
      _ = try bundle.check(key: key.publicKey, tlsKey: tlsKey, at: DeviceClock.system(isTrusted: false).moment())
    } catch { throw AttesterError(.badRequest, error.description) }
  }

  private func load(_ path: String, of user: Privilege.User?) throws(AttesterError) -> FileKey {
    try acting(as: user) { () throws(AttesterError) in
      do throws(KeyError) { return try FileKey.load(path) } catch {
        throw AttesterError(.notEnrolled, error.description)
      }
    }
  }
}
