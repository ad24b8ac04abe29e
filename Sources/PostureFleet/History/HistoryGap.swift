public import Posture

/// Events of one chain that must exist and are not in the history: the monitor was away when they came, or could not
/// store them. What is before the first one that is kept is none.
public struct HistoryGap: Hashable, Sendable {
  public var device: Name
  public var chain: String
  public var events: [ClosedRange<Int64>]

  /// - Parameters:
  ///   - events: everything of a device that is kept.
  ///   - report: the newest one, which names the last event.
  static func all(in events: [HistoryRecord], report: HistoryRecord?) -> [HistoryGap] {
    var chains: [String: EventChain] = [:]
    for event in events.sorted(by: { $0.seq < $1.seq }) {
      guard let claims = event.claims.flatMap({ try? EventClaims(claims: $0) }) else { continue }
      let facts = EventFacts(claims, kid: event.kid, digest: event.digest)
      chains[facts.chain, default: EventChain()].add(facts.link)
    }
    if let head = report?.claims.flatMap({ try? ReportClaims(claims: $0) })?.chain {
      chains[head.chain]?.claim(head.number, head.digest)
    }
    return chains.sorted { $0.key < $1.key }.compactMap { id, chain in
      let missing = chain.missing(fromStart: false)
      return missing.isEmpty ? nil : HistoryGap(device: events[0].device, chain: id, events: missing)
    }
  }

  private var ranges: String {
    events.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ", ")
  }
  public var text: String { "events not in the history: \(ranges) of chain \(chain)" }

  public var json: JSON {
    [
      "device": .string(device.description), "remark": "notInHistory", "chain": .string(chain), "text": .string(ranges),
    ]
  }
}

extension HistoryRecord {
  /// It was verified before it was stored.
  fileprivate var claims: JSON? {
    let parts = token.split(separator: UInt8(ascii: "."))
    guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else { return nil }
    return try? JSONParser.parse(payload)
  }
}
