public import Posture

/// The list of revoked device keys, put together from its parts. Parts of two versions are never mixed, and only the list
/// whose digest the trust document names says anything.
public struct RevokedKeys: Sendable {
  private struct List: Sendable {
    var version: Int64
    var parts: [Part?]
    /// nil until all parts are there.
    var complete: Complete?
  }

  private struct Part: Sendable {
    var keys: [String]
    var digest: [UInt8]
  }

  private struct Complete: Sendable {
    var keys: Set<String>
    var digest: String
  }

  /// At most two: the one in force and the one that is to come.
  private var lists: [List] = []

  public init() {}

  mutating func add(_ claims: RevokedClaims, digest: [UInt8]) throws(TokenError) {
    var list =
      lists.first { $0.version == claims.version }
      ?? List(version: claims.version, parts: Array(repeating: nil, count: claims.parts))
    guard list.parts.count == claims.parts else { throw TokenError(.fork, "revoked \(claims.version)") }
    if lists.count == 2, let newest = lists.map(\.version).max(), claims.version < newest,
      !lists.contains(where: { $0.version == claims.version })
    {
      throw TokenError(.rollback, "revoked \(claims.version)")
    }
    if let known = list.parts[claims.part], known.digest != digest {
      throw TokenError(.fork, "revoked \(claims.version) part \(claims.part)")
    }
    list.parts[claims.part] = Part(keys: claims.keys, digest: digest)
    list.complete = Self.complete(list.parts)
    lists.removeAll { $0.version == claims.version }
    lists.append(list)
    lists.sort { $0.version < $1.version }
    if lists.count > 2 { lists.removeFirst() }
  }

  private static func complete(_ parts: [Part?]) -> Complete? {
    let parts = parts.compactMap { $0 }.count == parts.count ? parts.compactMap { $0 } : []
    guard !parts.isEmpty else { return nil }
    return Complete(keys: Set(parts.flatMap(\.keys)), digest: digest(ofParts: parts.map(\.digest)))
  }

  /// What a trust document names: SHA-256 over the digests of the parts' payloads.
  public static func digest(ofParts digests: [[UInt8]]) -> String { SHA256.text(of: digests.flatMap { $0 }) }

  /// nil: the list that the trust document names is not here in full.
  public func contains(_ kid: String, as named: TrustClaims.RevokedList?) -> Bool? {
    guard let named else { return false }
    guard let list = lists.first(where: { $0.version == named.version })?.complete, list.digest == named.digest else {
      return nil
    }
    return list.keys.contains(kid)
  }
}
