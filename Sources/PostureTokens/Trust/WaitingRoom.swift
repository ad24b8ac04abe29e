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
  /// Messages of one device: nobody can fill the room with invented keys.
  static let perDevice = 64
  static let mostWants = 8_192
  static let mostBytes = 32 << 20

  private var held: [Want: [Held]] = [:]
  private(set) var count = 0
  private(set) var dropped = 0
  private var size = 0
  private var devices: [Name: Int] = [:]

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
    guard size + bytes.count <= Self.mostBytes, !list.isEmpty || held.count < Self.mostWants,
      topic.device.map({ devices[$0, default: 0] < Self.perDevice }) ?? true
    else {
      dropped += 1
      return
    }
    list.append(Held(bytes: bytes, topic: topic))
    count += 1
    size += bytes.count
    if let device = topic.device { devices[device, default: 0] += 1 }
  }

  private mutating func remove(_ index: Int, from list: inout [Held]) { forget(list.remove(at: index)) }

  private mutating func forget(_ held: Held) {
    count -= 1
    size -= held.bytes.count
    guard let device = held.topic.device, let others = devices[device].map({ $0 - 1 }) else { return }
    devices[device] = others > 0 ? others : nil
  }

  mutating func release(_ want: Want) -> [(bytes: [UInt8], topic: Topic)] {
    let list = held.removeValue(forKey: want) ?? []
    list.forEach { forget($0) }
    return list.map { ($0.bytes, $0.topic) }
  }

  /// Everything that waits for some root.
  mutating func releaseRoots() -> [(bytes: [UInt8], topic: Topic)] {
    let roots = held.keys.filter { if case .root = $0 { true } else { false } }
    return roots.flatMap { release($0) }
  }
}
