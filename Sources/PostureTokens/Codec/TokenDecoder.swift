import Glibc
public import Posture

/// The one place where bytes from outside become a token. Each check stands before everything that relies on it.
public enum TokenDecoder {
  /// Bytes of a decoded header; ours has about 120.
  static let headerLimit = 512
  /// Header members that name a key or a place to fetch one from (RFC 7515 section 4.1).
  private static let keyMembers = ["jwk", "jku", "x5u", "x5c", "x5t", "x5t#S256"]

  /// Reads the header and takes the parts apart. `kinds`: those that belong here (``Topic/kinds``).
  public static func decode(_ bytes: [UInt8], kinds: [TokenKind]) throws(TokenError) -> UnverifiedToken {
    guard bytes.count <= TokenKind.largestSize else { throw TokenError(.tooLarge, "\(bytes.count) bytes") }
    let (first, second) = try dots(in: bytes)
    let header = try Header(try part(bytes[..<first], "header", limit: headerLimit))
    guard kinds.contains(header.kind) else { throw TokenError(.typeNotHere, header.kind.rawValue) }
    guard bytes.count <= header.kind.sizeLimit else { throw TokenError(.tooLarge, "\(bytes.count) bytes") }
    let signature = try part(bytes[(second + 1)...], "signature", limit: headerLimit)
    guard signature.count == 64 else { throw TokenError(.signatureSize, "\(signature.count) bytes") }
    let payload = try part(bytes[(first + 1)..<second], "payload", limit: header.kind.sizeLimit)
    return UnverifiedToken(
      kind: header.kind, kid: header.kid, bytes: bytes, payload: payload, signature: signature, signed: second)
  }

  public static func decode(_ text: String, kinds: [TokenKind]) throws(TokenError) -> UnverifiedToken {
    try decode(Array(text.utf8), kinds: kinds)
  }

  /// Where the two dots are.
  private static func dots(in bytes: [UInt8]) throws(TokenError) -> (Int, Int) {
    guard let first = dot(in: bytes, from: 0), let second = dot(in: bytes, from: first + 1) else {
      throw TokenError(.notCompact, "fewer than three parts")
    }
    guard dot(in: bytes, from: second + 1) == nil else { throw TokenError(.notCompact, "more than three parts") }
    guard first > 0, second > first + 1, second + 1 < bytes.count else {
      throw TokenError(.notCompact, "an empty part")
    }
    return (first, second)
  }

  /// Where the next one is; memchr(3) looks at many bytes at once.
  private static func dot(in bytes: [UInt8], from start: Int) -> Int? {
    bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress,
        let found = memchr(base + start, Int32(UInt8(ascii: ".")), buffer.count - start)
      else { return nil }
      return UnsafeRawPointer(found) - base
    }
  }

  private static func part(
    _ letters: ArraySlice<UInt8>, _ name: String, limit: Int
  ) throws(TokenError) -> [UInt8] {
    guard letters.count <= (limit * 4 + 2) / 3 else { throw TokenError(.tooLarge, name) }
    guard let bytes = Base64URL.decode(letters) else { throw TokenError(.base64, name) }
    return bytes
  }

  private struct Header {
    let kind: TokenKind
    let kid: String

    init(_ bytes: [UInt8]) throws(TokenError) {
      let header = try Self.members(bytes)
      for member in header.members ?? [] { try Self.check(member.name) }
      guard header["alg"]?.string == "ES256" else { throw TokenError(.algorithm) }
      guard let kind = header["typ"]?.string.flatMap(TokenKind.init(rawValue:)) else { throw TokenError(.type) }
      guard let kid = header["kid"]?.string, kid.utf8.count == 43, Base64URL.decode(kid) != nil else {
        throw TokenError(.kid)
      }
      self.kind = kind
      self.kid = kid
    }

    private static func members(_ bytes: [UInt8]) throws(TokenError) -> JSON {
      let header: JSON
      do throws(JSONError) { header = try JSONParser.parse(bytes, limits: .init(bytes: headerLimit, depth: 8)) } catch {
        throw TokenError(.header, error.description)
      }
      guard header.members != nil else { throw TokenError(.header, "not an object") }
      return header
    }

    private static func check(_ name: String) throws(TokenError) {
      switch name {
      case "alg", "typ", "kid": return
      case "crit": throw TokenError(.headerCritical)
      case _ where keyMembers.contains(name): throw TokenError(.headerKey, name)
      default: throw TokenError(.headerMember)
      }
    }
  }
}
