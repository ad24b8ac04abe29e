public import Posture
import PosturePlatform

/// A private key in a file of ours: PKCS #8 PEM, mode 0600.
public struct FileKey: SigningKey {
  public let publicKey: PublicKey
  public var protection: KeyProtection { .file }
  let key: ECKey

  private init(_ key: ECKey) throws(KeyError) {
    self.key = key
    publicKey = try PublicKey(try key.point())
  }

  public static func generate() throws(KeyError) -> FileKey { try FileKey(ECKey.generate()) }

  public init(pem: [UInt8]) throws(KeyError) { try self.init(ECKey(pem: pem)) }

  /// A file that others can read or change is refused: the key may be theirs.
  public static func load(_ path: String) throws(KeyError) -> FileKey {
    let pem: [UInt8]
    do throws(SystemError) { pem = try AtomicFile.read(path, cap: 16_384, private: true) } catch {
      throw KeyError(.file, underlying: error)
    }
    return try FileKey(pem: pem)
  }

  public func save(_ path: String) throws(KeyError) {
    let pem = try pem()
    do throws(SystemError) { try AtomicFile.write(pem, to: path, mode: 0o600) } catch {
      throw KeyError(.file, underlying: error)
    }
  }

  public func pem() throws(KeyError) -> [UInt8] { try key.pem() }

  public func sign(_ bytes: [UInt8]) throws(KeyError) -> [UInt8] {
    try key.sign(digest: SHA256.digest(of: bytes[...]))
  }
}
