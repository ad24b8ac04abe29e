import Posture
@testable import PostureTokens

/// What is no token of ours, whoever signed it. Presence messages, because they are short.
extension VectorBook {
  private var place: Topic.Place { .presence(site.device) }

  private mutating func reject(_ name: String, _ code: TokenError.Code, _ why: String, _ body: [UInt8]) {
    add(
      "shape/\(name)", .reject(code), topic: Topic(site.name, place).text, why: why, body)
  }

  private mutating func reject(_ name: String, _ code: TokenError.Code, _ why: String, _ body: String) {
    reject(name, code, why, Array(body.utf8))
  }

  mutating func addShapes() throws {
    try addSerializations()
    try addEncodings()
    try addHeaders()
    try addSignatures()
    try addPayloads()
  }

  private func good() throws -> [String] {
    try sign(.presence, site.presence()).split(separator: ".").map(String.init)
  }

  private mutating func addSerializations() throws {
    let part = try good()
    let token = part.joined(separator: ".")
    reject("empty", .notCompact, "nothing at all: how a retained message is deleted", "")
    reject("two-parts", .notCompact, "no signature", part[0] + "." + part[1])
    reject("four-parts", .notCompact, "a part too many", token + ".AA")
    reject("five-parts-jwe", .notCompact, "JWE compact", token + ".AA.AA")
    reject("trailing-dot", .notCompact, "a part too many, empty", token + ".")
    reject("empty-header", .notCompact, "", "." + part[1] + "." + part[2])
    reject("empty-payload", .notCompact, "", part[0] + ".." + part[2])
    reject("empty-signature", .notCompact, "an unsecured JWS ends like this", part[0] + "." + part[1] + ".")
    reject("two-dots", .notCompact, "", "..")
    reject(
      "flattened", .notCompact, "JWS JSON serialization",
      JSON.object([
        .init("payload", .string(part[1])), .init("protected", .string(part[0])), .init("signature", .string(part[2])),
      ]).text)
    let signature: JSON = ["protected": .string(part[0]), "signature": .string(part[2])]
    reject(
      "general", .notCompact, "JWS JSON serialization",
      JSON.object([.init("payload", .string(part[1])), .init("signatures", [signature])]).text)
    reject("too-large", .tooLarge, "larger than any kind", String(repeating: "A", count: TokenKind.largestSize + 1))
    reject(
      "too-large-for-its-kind", .tooLarge, "4 KiB are enough for a presence",
      try sign(.presence, site.presence().adding("filler", .string(String(repeating: "x", count: 4_096)))))
  }

  private mutating func addEncodings() throws {
    let part = try good()
    for (index, name) in ["header", "payload", "signature"].enumerated() {
      func changed(_ change: (inout String) -> Void) -> String {
        var parts = part
        change(&parts[index])
        return parts.joined(separator: ".")
      }
      reject("padding-\(name)", .base64, "base64url without padding", changed { $0 += "=" })
      reject(
        "space-\(name)", .base64, "white space inside", changed { $0.insert(" ", at: $0.index(after: $0.startIndex)) })
      reject("standard-alphabet-\(name)", .base64, "+ of the other alphabet", changed { $0 = "+" + $0.dropFirst() })
      reject("truncated-\(name)", .base64, "a length that no bytes have", changed { $0 = Self.impossible($0) })
      reject("tail-bits-\(name)", .base64, "left-over bits that are not zero", changed { $0 = Self.tail($0) })
    }
    let token = part.joined(separator: ".")
    reject("leading-space", .base64, "", " " + token)
    reject("trailing-newline", .base64, "", token + "\n")
    reject("crlf", .base64, "a line break in the middle", part[0] + ".\r\n" + part[1] + "." + part[2])
    reject("byte-order-mark", .base64, "UTF-8 BOM before the token", [0xEF, 0xBB, 0xBF] + Array(token.utf8))
    reject("trailing-nul", .base64, "what a C string hides", Array(token.utf8) + [0])
    reject("utf-16", .base64, "UTF-16, little-endian", Array(token.utf8).flatMap { [$0, 0] })
  }

  /// One letter more or fewer, so that the length is 1 modulo 4.
  private static func impossible(_ part: String) -> String {
    String(part.dropLast((part.utf8.count + 3) % 4))
  }

  /// With the last letter's unused bits set; a part without any is made longer by a letter pair with such bits.
  private static func tail(_ part: String) -> String {
    switch part.utf8.count % 4 {
    case 0: part.dropLast(4) + "AB"
    case 2: part.dropLast() + "B"
    default: part.dropLast() + "B"
    }
  }

  private mutating func addHeaders() throws {
    let payload = site.presence().bytes
    let kid = site.deviceKey.publicKey.kid
    func header(_ members: String) -> String {
      #"{"alg":"ES256","typ":"posture-presence+jwt","kid":"\#(kid)"\#(members)}"#
    }
    let jwk = site.deviceKey.publicKey.jwk.json.text
    let headers: [(String, TokenError.Code, String, String)] = [
      ("crit-unknown", .headerCritical, "nothing critical is understood", header(#","crit":["exp"],"exp":1"#)),
      ("crit-empty", .headerCritical, "", header(#","crit":[]"#)),
      ("b64-false", .headerMember, "RFC 7797 without crit", header(#","b64":false"#)),
      ("b64-false-crit", .headerCritical, "RFC 7797", header(#","crit":["b64"],"b64":false"#)),
      ("jwk", .headerKey, "a key in the token itself", header(#","jwk":\#(jwk)"#)),
      ("jku", .headerKey, "a place to fetch keys from", header(#","jku":"https://evil.example/keys""#)),
      ("x5u", .headerKey, "", header(#","x5u":"https://evil.example/x509""#)),
      ("x5c", .headerKey, "", header(#","x5c":["MIIB"]"#)),
      ("x5t", .headerKey, "", header(#","x5t":"AAAA""#)),
      ("cty", .headerMember, "only alg, typ and kid are known", header(#","cty":"json""#)),
      ("duplicate-alg", .header, "two readers, two algorithms", header(#","alg":"none""#)),
      ("duplicate-kid-escaped", .header, "the same name, written with an escape", header(#","\u006bid":"x""#)),
      ("alg-none", .algorithm, "", #"{"alg":"none","typ":"posture-presence+jwt","kid":"\#(kid)"}"#),
      ("alg-None", .algorithm, "", #"{"alg":"None","typ":"posture-presence+jwt","kid":"\#(kid)"}"#),
      ("alg-es384", .algorithm, "", #"{"alg":"ES384","typ":"posture-presence+jwt","kid":"\#(kid)"}"#),
      ("alg-eddsa", .algorithm, "", #"{"alg":"EdDSA","typ":"posture-presence+jwt","kid":"\#(kid)"}"#),
      ("alg-missing", .algorithm, "", #"{"typ":"posture-presence+jwt","kid":"\#(kid)"}"#),
      ("alg-number", .algorithm, "", #"{"alg":256,"typ":"posture-presence+jwt","kid":"\#(kid)"}"#),
      ("alg-list", .algorithm, "", #"{"alg":["ES256"],"typ":"posture-presence+jwt","kid":"\#(kid)"}"#),
      ("typ-missing", .type, "", #"{"alg":"ES256","kid":"\#(kid)"}"#),
      ("typ-jwt", .type, "", #"{"alg":"ES256","typ":"JWT","kid":"\#(kid)"}"#),
      ("typ-upper-case", .type, "", #"{"alg":"ES256","typ":"POSTURE-PRESENCE+JWT","kid":"\#(kid)"}"#),
      ("typ-media-type", .type, "", #"{"alg":"ES256","typ":"application/posture-presence+jwt","kid":"\#(kid)"}"#),
      ("typ-null", .type, "", #"{"alg":"ES256","typ":null,"kid":"\#(kid)"}"#),
      ("kid-missing", .kid, "", #"{"alg":"ES256","typ":"posture-presence+jwt"}"#),
      ("kid-number", .kid, "", #"{"alg":"ES256","typ":"posture-presence+jwt","kid":1}"#),
      ("kid-traversal", .kid, "", #"{"alg":"ES256","typ":"posture-presence+jwt","kid":"../../../../dev/null"}"#),
      ("kid-nul", .kid, "", #"{"alg":"ES256","typ":"posture-presence+jwt","kid":"\#(kid.dropLast())\u0000"}"#),
      ("kid-padded", .kid, "", #"{"alg":"ES256","typ":"posture-presence+jwt","kid":"\#(kid)="}"#),
      (
        "kid-long", .tooLarge, "a header has 512 bytes at most",
        #"{"alg":"ES256","typ":"posture-presence+jwt","kid":"\#(String(repeating: "A", count: 600))"}"#
      ),
      ("header-array", .header, "", #"["ES256"]"#),
      ("header-text", .header, "", #""ES256""#),
      ("header-no-json", .header, "", "ES256"),
      ("header-comment", .header, "JSON has no comments", "/**/" + header("")),
      ("header-trailing", .header, "something after the object", header("") + "{}"),
      ("header-comma", .header, "a comma before the end", header(",")),
      ("header-bom", .header, "BOM", "\u{FEFF}" + header("")),
      ("header-nested", .headerMember, "", header(#","a":{"b":{"c":1}}"#)),
      ("header-deep", .header, "", header(#","a":[[[[[[[[[[1]]]]]]]]]]"#)),
    ]
    for (name, code, why, header) in headers { reject(name, code, why, try sign(header: header, payload: payload)) }
    add(
      "accept/header-order", .accept, on: place, key: site.deviceKey, why: "members in any order, with space",
      try sign(
        header: #"{ "kid" : "\#(kid)", "typ" : "posture-presence+jwt", "alg" : "ES256" }"#, payload: payload))
    try addHMAC(payload)
  }

  /// The public key's bytes as the secret of an HMAC: what a verifier accepts that lets the token choose the algorithm.
  private mutating func addHMAC(_ payload: [UInt8]) throws {
    let header = #"{"alg":"HS256","typ":"posture-presence+jwt","kid":"\#(site.deviceKey.publicKey.kid)"}"#
    let signed = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(payload)
    let secret = site.deviceKey.publicKey.jwk.json.bytes
    let block = SHA256.digest(of: secret) + [UInt8](repeating: 0, count: 32)
    let inner = SHA256.digest(of: block.map { $0 ^ 0x36 } + Array(signed.utf8))
    let tag = SHA256.digest(of: block.map { $0 ^ 0x5C } + inner)
    reject("alg-hs256", .algorithm, "HMAC keyed with the public key", signed + "." + Base64URL.encode(tag))
  }

  private mutating func addSignatures() throws {
    let part = try good()
    let signed = part[0] + "." + part[1] + "."
    let raw = Base64URL.decode(part[2])!
    let (r, s) = (Array(raw[..<32]), Array(raw[32...]))
    func token(_ signature: [UInt8]) -> String { signed + Base64URL.encode(signature) }
    let zero = [UInt8](repeating: 0, count: 32)
    reject("signature-der", .signatureSize, "ASN.1 instead of r and s", token(OpenSSLVerification.der(raw[...])))
    reject("signature-63", .signatureSize, "", token(Array(raw.dropLast())))
    reject("signature-65", .signatureSize, "", token(raw + [0]))
    reject("signature-zero", .signature, "r = s = 0", token(zero + zero))
    reject("signature-r-zero", .signature, "", token(zero + s))
    reject("signature-s-zero", .signature, "", token(r + zero))
    reject("signature-r-order", .signature, "r = n", token(Self.order + s))
    reject("signature-s-order", .signature, "s = n", token(r + Self.order))
    reject("signature-max", .signature, "both above n", token([UInt8](repeating: 255, count: 64)))
    reject("signature-swapped", .signature, "s, r", token(s + r))
    reject("signature-flipped", .signature, "one bit", token(raw.dropLast() + [raw.last! ^ 1]))
    reject(
      "signature-of-other-bytes", .signature, "the signature of the will under the birth",
      signed + (try sign(.presence, site.presence(.offline)).split(separator: ".")[2]))
    reject(
      "signature-of-other-key", .signature, "the device's kid, a stranger's signature",
      try sign(header: header(site.deviceKey), payload: site.presence().bytes, VectorSite.key("stranger")))
    add(
      "accept/signature-mirrored", .accept, on: place, key: site.deviceKey,
      why: "(r, n-s) is as good as (r, s): tokens are compared by payload", token(r + Self.subtract(Self.order, s)))
  }

  /// The order n of the group of P-256 (FIPS 186-4 D.1.2.3).
  private static let order: [UInt8] = [
    0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6, 0xFA,
    0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
  ]

  private static func subtract(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
    var result = left
    var borrow = 0
    for index in left.indices.reversed() {
      let digit = Int(left[index]) - Int(right[index]) - borrow
      borrow = digit < 0 ? 1 : 0
      result[index] = UInt8(digit & 255)
    }
    return result
  }

  private mutating func addPayloads() throws {
    let good = site.presence().text
    /// The good claims with one more member.
    func with(_ member: String) -> String { String(good.dropLast()) + "," + member + "}" }
    let payloads: [(String, String, String)] = [
      ("duplicate-claim", "the last of two wins elsewhere", with(#""state":"offline""#)),
      ("duplicate-escaped", "the same name, written with an escape", with(#""\u0073tate":"offline""#)),
      ("duplicate-nested", "", with(#""x":{"a":1,"a":2}"#)),
      ("nan", "", with(#""x":NaN"#)),
      ("infinity", "", with(#""x":-Infinity"#)),
      ("float", "", with(#""x":1.0"#)),
      ("exponent", "", with(#""x":1e3"#)),
      ("huge-exponent", "infinite elsewhere", with(#""x":1e400"#)),
      ("two-to-63", "", with(#""x":9223372036854775808"#)),
      ("two-to-70", "", with(#""x":1180591620717411303424"#)),
      ("minus-zero", "", with(#""x":-0"#)),
      ("leading-zero", "", with(#""x":01"#)),
      ("hexadecimal", "", with(#""x":0x10"#)),
      ("digits", "more digits than any reader is ready for", with(#""x":\#(String(repeating: "9", count: 2_000))"#)),
      ("deep", "17 levels", with(#""x":\#(String(repeating: "[", count: 17))\#(String(repeating: "]", count: 17))"#)),
      ("unclosed", "", String(good.dropLast())),
      ("trailing", "", good + "{}"),
      ("trailing-comma", "", String(good.dropLast()) + ",}"),
      ("single-quotes", "", good.map { $0 == "\"" ? "'" : String($0) }.joined()),
      ("control-character", "a raw line break in a string", with("\"x\":\"a\nb\"")),
      ("lone-surrogate", "", with(#""x":"\ud800""#)),
      ("low-surrogate-first", "", with(#""x":"\udc00\ud800""#)),
      ("array", "", "[]"), ("null", "", "null"), ("number", "", "1"), ("text", "", #""claims""#),
      ("space-only", "", "  "), ("byte-order-mark-inside", "", "\u{FEFF}" + good),
    ]
    for (name, why, payload) in payloads {
      reject("payload-\(name)", .payload, why, try sign(payload: Array(payload.utf8)))
    }
    let bytes = Array(good.utf8)
    reject("payload-utf-16", .payload, "", try sign(payload: bytes.flatMap { [0, $0] }))
    reject(
      "payload-latin-1", .payload, "no UTF-8",
      try sign(payload: Array(with(#""x":""#).utf8.dropLast()) + [0xE9, 0x22, 0x7D]))
    reject(
      "payload-overlong", .payload, "a slash in two bytes",
      try sign(payload: Array(with(#""x":""#).utf8.dropLast()) + [0xC0, 0xAF, 0x22, 0x7D]))
    reject(
      "payload-surrogate-bytes", .payload, "CESU-8",
      try sign(payload: Array(with(#""x":""#).utf8.dropLast()) + [0xED, 0xA0, 0x80, 0x22, 0x7D]))
    add(
      "shape/payload-40000-deep", .reject(.tooLarge), on: .report(site.device), why: "as deep as a token is long",
      try sign(header: header(site.deviceKey, .report), payload: Array(repeating: 0x5B, count: 40_000)))
  }
}
