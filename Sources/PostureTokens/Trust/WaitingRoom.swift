import Posture

/// Messages that cannot be judged yet: the newest of each retained topic, a few of the others, within fixed bounds.
struct WaitingRoom: Sendable {
  /// What they wait for.
  enum Want: Hashable, Sendable {
    /// The credential of a key (kid).
    case key(String)
    /// A rotation to a root (kid).
    case root(String)
  }

  private struct Held: Sendable {
    var bytes: [UInt8]
    var topic: Topic
  }

  /// Messages on topics that are not retained, for one key.
  static let perKey = 16
  static let mostWants = 8_192
  static let mostBytes = 32 << 20

  private var held: [Want: [Held]] = [:]
  private(set) var count = 0
  private(set) var dropped = 0
  private var size = 0

  mutating func add(_ bytes: [UInt8], on topic: Topic, for want: Want) {
    var list = held.removeValue(forKey: want) ?? []
    defer { if !list.isEmpty { held[want] = list } }
    if topic.isRetained, let old = list.firstIndex(where: { $0.topic == topic }) { remove(old, from: &list) }
    if !topic.isRetained, list.count(where: { !$0.topic.isRetained }) >= Self.perKey,
      let oldest = list.firstIndex(where: { !$0.topic.isRetained })
    {
      remove(oldest, from: &list)
      dropped += 1
    }
    guard size + bytes.count <= Self.mostBytes, !list.isEmpty || held.count < Self.mostWants else {
      dropped += 1
      return
    }
    list.append(Held(bytes: bytes, topic: topic))
    count += 1
    size += bytes.count
  }

  private mutating func remove(_ index: Int, from list: inout [Held]) {
    size -= list.remove(at: index).bytes.count
    count -= 1
  }

  mutating func release(_ want: Want) -> [(bytes: [UInt8], topic: Topic)] {
    let list = held.removeValue(forKey: want) ?? []
    count -= list.count
    size -= list.reduce(0) { $0 + $1.bytes.count }
    return list.map { ($0.bytes, $0.topic) }
  }

  /// Everything that waits for some root.
  mutating func releaseRoots() -> [(bytes: [UInt8], topic: Topic)] {
    let roots = held.keys.filter { if case .root = $0 { true } else { false } }
    return roots.flatMap { release($0) }
  }
}
