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
    var number: Int
    var bytes: [UInt8]
    var topic: Topic

    /// What it takes of the room.
    var size: Int { bytes.count + WaitingRoom.overhead }
  }

  /// The messages of one device, or of the site, oldest first.
  private struct Share: Sendable {
    var places: [(want: Want, number: Int)] = []
    var size = 0
  }

  /// Messages on topics that are not retained, for one key.
  static let perKey = 16
  /// Messages of one device: nobody can fill the room with invented keys.
  static let perDevice = 64
  /// Of all messages together, each with so many beside its own.
  static let mostBytes = 32 << 20
  private static let overhead = 1_024

  private var held: [Want: [Held]] = [:]
  private var shares: [Name?: Share] = [:]
  private var last = 0
  private var size = 0
  private(set) var count = 0
  private(set) var dropped = 0

  /// Where there is no room, the oldest message makes it: that of the same key, of the same device, and of the device
  /// that holds most.
  mutating func add(_ bytes: [UInt8], on topic: Topic, for want: Want) {
    if topic.isRetained {
      if let old = held[want]?.first(where: { $0.topic == topic }) { remove(old, for: want) }
    } else if let others = held[want]?.filter({ !$0.topic.isRetained }), others.count >= Self.perKey {
      drop(others[0], for: want)
    }
    if topic.device != nil, shares[topic.device]?.places.count ?? 0 >= Self.perDevice { dropOldest(of: topic.device) }
    last += 1
    put(Held(number: last, bytes: bytes, topic: topic), for: want)
    while size > Self.mostBytes, let largest = shares.max(by: { $0.value.size < $1.value.size }) {
      dropOldest(of: largest.key)
    }
  }

  private mutating func put(_ message: Held, for want: Want) {
    held[want, default: []].append(message)
    shares[message.topic.device, default: Share()].places.append((want, message.number))
    shares[message.topic.device]?.size += message.size
    size += message.size
    count += 1
  }

  private mutating func dropOldest(of device: Name?) {
    guard let (want, number) = shares[device]?.places.first,
      let oldest = held[want]?.first(where: { $0.number == number })
    else { return }
    drop(oldest, for: want)
  }

  private mutating func drop(_ message: Held, for want: Want) {
    remove(message, for: want)
    dropped += 1
  }

  private mutating func remove(_ message: Held, for want: Want) {
    held[want]?.removeAll { $0.number == message.number }
    if held[want]?.isEmpty ?? false { held[want] = nil }
    forget(message)
  }

  private mutating func forget(_ message: Held) {
    let device = message.topic.device
    shares[device]?.places.removeAll { $0.number == message.number }
    shares[device]?.size -= message.size
    if shares[device]?.places.isEmpty ?? false { shares[device] = nil }
    size -= message.size
    count -= 1
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
