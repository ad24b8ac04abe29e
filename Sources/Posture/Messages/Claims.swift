/// Why the claims of a token are not those of its kind.
public struct ClaimError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: String, Sendable, CaseIterable {
    case missing
    /// A string where an integer belongs, and the like.
    case type
    /// Too small, too large, too short, too long, too many.
    case range
    /// None of the words that are allowed here.
    case value
    /// Two claims contradict each other.
    case conflict
    /// A claim that this profile excludes.
    case forbidden
  }
  public let code: Code
  /// The claim's name; a dot stands before the name of a member.
  public let claim: String

  public init(_ code: Code, _ claim: String) {
    self.code = code
    self.claim = claim
  }

  public var description: String { "claim \"\(claim)\": \(code.rawValue)" }
}

/// Typed access to the members of a claims object. Members that nobody asks for are passed over (RFC 7519 section 4).
struct ClaimReader {
  /// 1970 itself up to the end of the year 9999; 0 is no date but a clock that was never set.
  static let dates: ClosedRange<Int64> = 1...253_402_300_799
  /// Those that every reader of JSON keeps exactly (RFC 8259 section 6), and that can still be added to.
  static let counts: ClosedRange<Int64> = 0...(1 << 53 - 1)

  private let claims: JSON
  private let prefix: String

  init(_ claims: JSON, in parent: String? = nil) throws(ClaimError) {
    guard claims.members != nil else { throw ClaimError(.type, parent ?? "") }
    self.claims = claims
    prefix = parent.map { "\($0)." } ?? ""
  }

  func error(_ code: ClaimError.Code, _ name: String) -> ClaimError { ClaimError(code, prefix + name) }

  func optional(_ name: String) -> JSON? { claims[name] }

  func value(_ name: String) throws(ClaimError) -> JSON {
    guard let value = claims[name] else { throw error(.missing, name) }
    return value
  }

  func forbid(_ names: String...) throws(ClaimError) {
    if let found = names.first(where: { claims[$0] != nil }) { throw error(.forbidden, found) }
  }

  func object(_ name: String) throws(ClaimError) -> ClaimReader {
    try ClaimReader(try value(name), in: prefix + name)
  }

  // MARK: Text

  func text(_ name: String, _ bytes: ClosedRange<Int> = 1...256) throws(ClaimError) -> String {
    guard let text = try value(name).string else { throw error(.type, name) }
    guard bytes.contains(text.utf8.count) else { throw error(.range, name) }
    // Whatever ends a C string would show one half of a text and hide the other.
    guard !text.hasZero else { throw error(.value, name) }
    return text
  }

  func optionalText(_ name: String, _ bytes: ClosedRange<Int> = 1...256) throws(ClaimError) -> String? {
    claims[name] == nil ? nil : try text(name, bytes)
  }

  func texts(_ name: String, count: ClosedRange<Int>, bytes: ClosedRange<Int>) throws(ClaimError) -> [String] {
    guard let texts = try value(name).strings else { throw error(.type, name) }
    guard count.contains(texts.count), texts.allSatisfy({ bytes.contains($0.utf8.count) }) else {
      throw error(.range, name)
    }
    guard !texts.contains(where: \.hasZero) else { throw error(.value, name) }
    return texts
  }

  func word<Word: RawRepresentable<String>>(_ name: String, _: Word.Type = Word.self) throws(ClaimError) -> Word {
    guard let text = try value(name).string else { throw error(.type, name) }
    guard let word = Word(rawValue: text) else { throw error(.value, name) }
    return word
  }

  func optionalWord<Word: RawRepresentable<String>>(_ name: String) throws(ClaimError) -> Word? {
    claims[name] == nil ? nil : try word(name)
  }

  /// Letters of base64url, no padding.
  func base64url(_ name: String, _ characters: ClosedRange<Int>) throws(ClaimError) -> String {
    let text = try text(name, characters)
    guard Base64URL.hasOnlyItsLetters(text) else { throw error(.value, name) }
    return text
  }

  func name(_ claim: String) throws(ClaimError) -> Name {
    guard let name = Name(try text(claim, 1...63)) else { throw error(.value, claim) }
    return name
  }

  func party(_ claim: String) throws(ClaimError) -> Party {
    guard let party = Party(urn: try text(claim)) else { throw error(.value, claim) }
    return party
  }

  /// nil: the root.
  func partyOrRoot(_ claim: String) throws(ClaimError) -> Party? {
    let text = try text(claim)
    if text == Party.root { return nil }
    guard let party = Party(urn: text) else { throw error(.value, claim) }
    return party
  }

  func audience(_ claim: String = "aud") throws(ClaimError) -> Audience {
    guard let audience = Audience(urn: try text(claim)) else { throw error(.value, claim) }
    return audience
  }

  // MARK: Numbers

  func integer(_ name: String, in range: ClosedRange<Int64> = Self.counts) throws(ClaimError) -> Int64 {
    guard let number = try value(name).integer else { throw error(.type, name) }
    guard range.contains(number) else { throw error(.range, name) }
    return number
  }

  func optionalInteger(_ name: String, in range: ClosedRange<Int64> = Self.counts) throws(ClaimError) -> Int64? {
    claims[name] == nil ? nil : try integer(name, in: range)
  }

  func date(_ name: String) throws(ClaimError) -> Int64 { try integer(name, in: Self.dates) }

  /// An end that lies after `start`, by at most `life` seconds.
  func end(_ name: String = "exp", after start: Int64, life: Int64) throws(ClaimError) -> Int64 {
    let end = try date(name)
    guard end > start else { throw error(.conflict, name) }
    guard end - start <= life else { throw error(.range, name) }
    return end
  }

  func optionalEnd(_ name: String = "exp", after start: Int64, life: Int64) throws(ClaimError) -> Int64? {
    claims[name] == nil ? nil : try end(name, after: start, life: life)
  }
}

extension String {
  /// A C string would end there.
  fileprivate var hasZero: Bool {
    utf8.withContiguousStorageIfAvailable { $0.contains(0) } ?? utf8.contains(0)
  }
}
