import Posture

/// Messages whose key is not known yet: the newest of each retained topic, a few of the others, within fixed bounds.
struct WaitingRoom: Sendable {
  static let perKey = 16
  static let mostKeys = 4_096
  static let mostBytes = 32 << 20

  private var held: [String: [(bytes: [UInt8], topic: Topic)]] = [:]
  private(set) var count = 0
  private(set) var dropped = 0
  private var size = 0

  mutating func add(_ bytes: [UInt8], on topic: Topic, kid: String) {
    var list = held.removeValue(forKey: kid) ?? []
    defer { if !list.isEmpty { held[kid] = list } }
    if topic.isRetained, let old = list.firstIndex(where: { $0.topic == topic }) { remove(old, from: &list) }
    if list.count >= Self.perKey {
      remove(0, from: &list)
      dropped += 1
    }
    guard size + bytes.count <= Self.mostBytes, !list.isEmpty || held.count < Self.mostKeys else {
      dropped += 1
      return
    }
    list.append((bytes, topic))
    count += 1
    size += bytes.count
  }

  private mutating func remove(_ index: Int, from list: inout [(bytes: [UInt8], topic: Topic)]) {
    size -= list.remove(at: index).bytes.count
    count -= 1
  }

  mutating func release(_ kid: String) -> [([UInt8], Topic)] {
    let list = held.removeValue(forKey: kid) ?? []
    count -= list.count
    size -= list.reduce(0) { $0 + $1.bytes.count }
    return list.map { ($0.bytes, $0.topic) }
  }
}
