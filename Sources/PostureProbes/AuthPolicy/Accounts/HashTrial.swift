import CCrypt
import Glibc

/// crypt(3), reentrant.
enum HashTrial {
  /// The hash of the empty password under the setting of `field`; nil where the library knows no such setting.
  static func hashOfEmpty(_ field: String) -> String? {
    let data = UnsafeMutablePointer<crypt_data>.allocate(capacity: 1)
    defer {
      // Intermediate state of the hash is not left behind in freed memory.
      explicit_bzero(data, MemoryLayout<crypt_data>.size)
      data.deallocate()
    }
    memset(data, 0, MemoryLayout<crypt_data>.size)
    guard let made = crypt_r("", field, data) else { return nil }
    let text = String(cString: made)
    return text.hasPrefix("*") ? nil : text
  }
}
