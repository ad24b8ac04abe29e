import Posture

/// What the courier has counted since its start; some of it goes into each presence.
struct Counters {
  enum Name: String, CaseIterable {
    case connects, reports, events, obeyed, refused
    /// Good commands that came when as many had been refused as may be said.
    case unrefused
    case replayed, invalidCommands, retainedCommands, strayMessages, refusedDocuments, attesterLosses
    case presenceCorrections, renewals
  }

  private var counts: [Name: Int64] = [:]

  mutating func count(_ name: Name) { counts[name, default: 0] += 1 }

  subscript(_ name: Name) -> Int64 { counts[name] ?? 0 }

  var named: [String: Int64] {
    Dictionary(uniqueKeysWithValues: Name.allCases.compactMap { name in counts[name].map { (name.rawValue, $0) } })
  }

  var json: JSON { .object(Name.allCases.map { JSON.Member($0.rawValue, .integer(self[$0])) }) }
}
