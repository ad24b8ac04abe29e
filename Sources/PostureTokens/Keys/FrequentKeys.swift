import Posture
import Synchronization

/// Verifies for the few keys that sign for many, which are those of issuers and roots: each of a fleet's credentials is
/// signed by one of them.
enum FrequentKeys {
  private enum Entry {
    case asked(times: Int)
    /// By the thread whose turn it was; the others don't wait.
    case inTheMaking
    case ready(PointMultiples)
    /// The library does not make them.
    case impossible
  }

  /// So often that the multiples have nearly paid for themselves.
  static let threshold = 400
  /// A site has one issuer, or a handful.
  private static let cap = 16
  private static let entries = Mutex<[JWK: Entry]>([:])

  /// As ``Verifier/verifies(_:digest:by:)``.
  static func verifies(_ signature: ArraySlice<UInt8>, digest: [UInt8], by point: JWK) -> Bool {
    switch entries.withLock({ ask(for: point, &$0) }) {
    case .ready(let multiples): return multiples.verifies(signature, digest: digest)
    case .asked(Self.threshold): make(point)
    case .asked, .inTheMaking, .impossible: break
    }
    return Verifier.verifies(signature, digest: digest, by: point)
  }

  private static func ask(for point: JWK, _ entries: inout [JWK: Entry]) -> Entry {
    if entries[point] == nil, entries.count >= cap { entries = [:] }
    guard case .asked(let times) = entries[point] ?? .asked(times: 0) else { return entries[point] ?? .impossible }
    entries[point] = times + 1 < threshold ? .asked(times: times + 1) : .inTheMaking
    return .asked(times: times + 1)
  }

  private static func make(_ point: JWK) {
    let made = PointMultiples(point)
    entries.withLock { $0[point] = made.map(Entry.ready) ?? .impossible }
  }
}
