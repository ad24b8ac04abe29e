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
  /// By kid.
  private static let entries = Mutex<[String: Entry]>([:])

  /// As ``Verifier/verifies(_:digest:by:)``.
  static func verifies(_ signature: ArraySlice<UInt8>, digest: [UInt8], by key: PublicKey) -> Bool {
    switch entries.withLock({ ask(for: key.kid, &$0) }) {
    case .ready(let multiples): return Verifier.verifies(signature, digest: digest, by: multiples)
    case .asked(Self.threshold): make(key)
    case .asked, .inTheMaking, .impossible: break
    }
    return Verifier.verifies(signature, digest: digest, by: key.jwk)
  }

  private static func ask(for kid: String, _ entries: inout [String: Entry]) -> Entry {
    let times: Int
    switch entries[kid] {
    case .asked(let before): times = before + 1
    case let entry?: return entry
    case nil:
      times = 1
      if entries.count >= cap { entries = [:] }
    }
    entries[kid] = times < threshold ? .asked(times: times) : .inTheMaking
    return .asked(times: times)
  }

  private static func make(_ key: PublicKey) {
    let made = PointMultiples(key.jwk)
    entries.withLock { $0[key.kid] = made.map(Entry.ready) ?? .impossible }
  }
}
