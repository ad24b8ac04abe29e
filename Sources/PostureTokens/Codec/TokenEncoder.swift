public import Posture

/// Makes tokens: JWS compact (RFC 7515), ES256.
public enum TokenEncoder {
  public static func encode(
    _ kind: TokenKind, _ claims: JSON, with key: some SigningKey
  ) throws(KeyError) -> String {
    let header: JSON = [
      "alg": "ES256", "typ": .string(kind.rawValue), "kid": .string(key.publicKey.kid),
    ]
    let token = try encode(header: header.bytes, payload: claims.bytes, with: key)
    guard token.utf8.count <= kind.sizeLimit else {
      throw KeyError(.size, "\(token.utf8.count) bytes of \(kind.rawValue)")
    }
    return token
  }

  /// The three parts of any header and payload: what the test vectors are made with.
  static func encode(header: [UInt8], payload: [UInt8], with key: some SigningKey) throws(KeyError) -> String {
    let dot = UInt8(ascii: ".")
    var token = Base64URL.encodedBytes(header) + [dot] + Base64URL.encodedBytes(payload)
    let signature = try key.sign(token)
    token.append(dot)
    token += Base64URL.encodedBytes(signature)
    return String(decoding: token, as: UTF8.self)
  }
}
