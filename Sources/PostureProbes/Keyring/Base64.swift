import Posture

/// Base64 as files have it: the alphabet with `+` and `/`, and padding.
enum Base64 {
  /// nil for a foreign letter, or a length that no bytes have.
  static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    let letters = text.compactMap { byte -> UInt8? in
      switch byte {
      case UInt8(ascii: "="): nil
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: byte
      }
    }
    return Base64URL.decode(letters[...])
  }
}
