/// Puts the reports of one key in order, by `seq` alone: what comes late, twice or in two versions.
public struct ReportOrder: Hashable, Sendable {
  public enum Place: String, Sendable, CaseIterable {
    /// Above all before: the state of the device.
    case newest
    /// An older number: information at most.
    case older
    /// Seen before, the same payload.
    case duplicate
    /// Two payloads under one number: a copied key, or a lie.
    case equivocation
  }

  /// Numbers whose digests are kept for comparison.
  public static let memory = 64

  public private(set) var latest: Int64?
  /// Stays once it has been seen.
  public private(set) var isEquivocal = false
  private var digests: [Int64: String] = [:]

  public init() {}

  /// `digest`: of the payload, for a signature has many spellings.
  public mutating func place(_ sequence: Int64, digest: String) -> Place {
    if let known = digests[sequence] {
      guard known != digest else { return .duplicate }
      isEquivocal = true
      return .equivocation
    }
    digests[sequence] = digest
    if digests.count > Self.memory, let oldest = digests.keys.min() { digests[oldest] = nil }
    guard let latest, sequence <= latest else {
      latest = sequence
      return .newest
    }
    return .older
  }
}
