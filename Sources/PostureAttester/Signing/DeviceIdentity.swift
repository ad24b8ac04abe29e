import Glibc
public import Posture
import PosturePlatform
public import PostureTokens

/// Who this device is: its key, and what the enrolment says of it.
public struct DeviceIdentity: Sendable {
  public let key: any SigningKey
  public let party: Party
  /// In the order of the credential: the first that has a policy decides.
  public let groups: [Name]
  /// Base64url of 0x01 and 16 random bytes, for the life of the device (RFC 9711 section 4.2.1).
  public let ueid: String
  /// The pinned root, and the trust document of the enrolment.
  let trust: TrustStore
  /// Both nil only in tests that need no enrolment.
  let bundle: EnrolmentBundle?
  let credential: Credential?

  public var kid: String { key.publicKey.kid }

  init(
    key: any SigningKey, party: Party, groups: [Name], ueid: String, trust: TrustStore,
    bundle: EnrolmentBundle? = nil, credential: Credential? = nil
  ) {
    self.bundle = bundle
    self.credential = credential
    self.key = key
    self.party = party
    self.groups = groups
    self.ueid = ueid
    self.trust = trust
  }

  /// The signing key: its file is read as `user`, a TPM is asked as whoever we are.
  static func key(_ folder: DeviceFolder, of user: Privilege.User?) throws(AttesterError) -> any SigningKey {
    let content = try Privilege.acting(as: user) { () throws(AttesterError) in
      do throws(KeyError) { return try KeyFile.read(folder.attesterKey) } catch {
        throw AttesterError(.notEnrolled, error.description)
      }
    }
    do throws(KeyError) { return try content.open() } catch { throw AttesterError(.signing, error.description) }
  }

  /// What ``DeviceFolder/attester`` holds beside the key.
  static func load(_ folder: DeviceFolder, key: any SigningKey) throws(AttesterError) -> DeviceIdentity {
    let bundle = try Self.bundle(folder.attesterBundle)
    return try DeviceIdentity(key: key, ueid: try deviceID(folder), bundle: bundle)
  }

  init(key: any SigningKey, ueid: String, bundle: EnrolmentBundle) throws(AttesterError) {
    do throws(EnrolmentError) {
      // What was good at the enrolment stays this device's identity; a past end is for the monitors to see.
      let (credential, trust) = try bundle.check(key: key.publicKey, tlsKey: nil, at: Moment(0, isTrusted: false))
      self.init(
        key: key, party: bundle.party, groups: credential.grant.groups, ueid: ueid, trust: trust, bundle: bundle,
        credential: credential)
    } catch { throw AttesterError(.notEnrolled, error.description) }
  }

  private static func bundle(_ path: String) throws(AttesterError) -> EnrolmentBundle {
    let bundle: EnrolmentBundle
    do {
      let bytes = try AtomicFile.read(path)
      bundle = try EnrolmentBundle(json: try JSONParser.parse(bytes, limits: .init(bytes: 1 << 20, depth: 8)))
    } catch { throw AttesterError(.notEnrolled, "\(error)") }
    guard bundle.role == .device else { throw AttesterError(.notEnrolled, "\(path) is not for a device") }
    return bundle
  }

  private static func deviceID(_ folder: DeviceFolder) throws(AttesterError) -> String {
    guard let bytes = try? AtomicFile.read(folder.deviceID, cap: 64) else {
      throw AttesterError(.notEnrolled, "\(folder.deviceID) is missing")
    }
    let text = String(decoding: bytes, as: UTF8.self)
    guard (10...44).contains(text.utf8.count), Base64URL.decode(text)?.first == 1 else {
      throw AttesterError(.notEnrolled, "\(folder.deviceID) holds no id")
    }
    return text
  }
}
