import Posture
import PosturePlatform

/// The file that stands for a signing key: the key itself (PEM), or a reference to one in the TPM (JSON).
public enum KeyFile {
  /// Whichever it is. A reference whose TPM does not answer, or has another key at the handle, is an error: there is no
  /// fallback.
  public static func load(_ path: String) throws(KeyError) -> any SigningKey {
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try AtomicFile.read(path, cap: 16_384, private: true) } catch {
      throw KeyError(.file, underlying: error)
    }
    guard bytes.first == UInt8(ascii: "{") else { return try FileKey(pem: bytes) }
    return try reference(bytes)
  }

  private static func reference(_ bytes: [UInt8]) throws(KeyError) -> TPMKey {
    let json: JSON
    do throws(JSONError) { json = try JSONParser.parse(bytes) } catch { throw KeyError(.format, error.description) }
    guard let text = json["handle"]?.string, text.hasPrefix("0x"), let handle = UInt32(text.dropFirst(2), radix: 16),
      let kid = json["kid"]?.string
    else { throw KeyError(.format, "a reference has a handle and a kid") }
    let key = try TPMKey(handle: handle, tcti: json["tcti"]?.string)
    guard key.publicKey.kid == kid else { throw KeyError(.tpm, "another key is at \(text)") }
    return key
  }

  /// Writes the reference to a key in the TPM. `tcti` as in ``TPMKey/init(handle:tcti:)``.
  public static func save(_ key: TPMKey, tcti: String? = nil, to path: String) throws(KeyError) {
    let json = JSON.build { object in
      object("handle", .string(TPMKey.text(key.handle)))
      object("kid", .string(key.publicKey.kid))
      object("tcti", optional: tcti)
    }
    do throws(SystemError) { try AtomicFile.write(json.bytes + [10], to: path, mode: 0o600) } catch {
      throw KeyError(.file, underlying: error)
    }
  }
}
