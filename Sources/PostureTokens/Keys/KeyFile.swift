public import Posture
import PosturePlatform

/// The file that stands for a signing key: the key itself (PEM), or a reference to one in the TPM (JSON).
public enum KeyFile {
  public enum Content: Sendable {
    case key(FileKey)
    case reference(TPMReference)

    public var protection: KeyProtection {
      switch self {
      case .key: .file
      case .reference: .tpm
      }
    }

    /// The key itself. A reference whose TPM does not answer, or has another key at the handle, is an error: there is no
    /// fallback.
    public func open() throws(KeyError) -> any SigningKey {
      switch self {
      case .key(let key): return key
      case .reference(let reference): return try reference.open()
      }
    }
  }

  /// Whichever it is; no TPM is asked.
  public static func read(_ path: String) throws(KeyError) -> Content {
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try AtomicFile.read(path, cap: 16_384, private: true) } catch {
      throw KeyError(.file, underlying: error)
    }
    guard bytes.first == UInt8(ascii: "{") else { return .key(try FileKey(pem: bytes)) }
    return .reference(try TPMReference(bytes))
  }
}

/// Where a key in the TPM is, and which one it has to be.
public struct TPMReference: Hashable, Sendable {
  public let handle: UInt32
  public let kid: String
  /// As in ``TPMKey/init(handle:tcti:)``.
  public let tcti: String?

  public init(_ key: TPMKey, tcti: String?) {
    handle = key.handle
    kid = key.publicKey.kid
    self.tcti = tcti
  }

  init(_ bytes: [UInt8]) throws(KeyError) {
    let json: JSON
    do throws(JSONError) { json = try JSONParser.parse(bytes) } catch { throw KeyError(.format, error.description) }
    guard let text = json["handle"]?.string, text.hasPrefix("0x"), let handle = UInt32(text.dropFirst(2), radix: 16),
      let kid = json["kid"]?.string
    else { throw KeyError(.format, "a reference has a handle and a kid") }
    self.handle = handle
    self.kid = kid
    tcti = json["tcti"]?.string
  }

  public func open() throws(KeyError) -> TPMKey {
    let key = try TPMKey(handle: handle, tcti: tcti)
    guard key.publicKey.kid == kid else { throw KeyError(.tpm, "another key is at \(TPMKey.text(handle))") }
    return key
  }

  /// Writes what ``KeyFile/read(_:)`` reads.
  public func save(to path: String) throws(KeyError) {
    let json = JSON.build { object in
      object("handle", .string(TPMKey.text(handle)))
      object("kid", .string(kid))
      object("tcti", optional: tcti)
    }
    do throws(SystemError) { try AtomicFile.write(json.bytes + [10], to: path, mode: 0o600) } catch {
      throw KeyError(.file, underlying: error)
    }
  }
}
