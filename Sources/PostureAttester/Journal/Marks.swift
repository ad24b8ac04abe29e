import Posture
import PosturePlatform
import PostureTokens

/// The highest numbers ever used, kept in a small file beside the journal: a journal that is damaged, or that has lost
/// its newest pages without a trace, must not make the key sign one number twice.
struct Marks: Hashable, Sendable {
  /// By kid, and by ``unknownKey``.
  var sequences: [String: Int64]
  var connection: Int64
  /// Generation of the chain and number of the newest event; both 0 before the first.
  var generation: Int64
  var event: Int64
  var versions: [String: Ledger.Document]
  var clock: Int64

  var json: JSON {
    [
      "sequences": .object(sequences.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .integer($0.value)) }),
      "connection": .integer(connection), "generation": .integer(generation), "event": .integer(event),
      "versions": .object(versions.sorted { $0.key < $1.key }.map { JSON.Member($0.key, $0.value.mark) }),
      "clock": .integer(clock),
    ]
  }

  /// nil for what was not written by ``bytes``.
  init?(bytes: [UInt8]) {
    guard let document = try? JSONParser.parse(bytes, limits: JSONParser.Limits(bytes: 1 << 20, depth: 8)),
      let marks = document["marks"], document["sum"]?.string == Checksum.of("marks", marks.text),
      let sequences = marks["sequences"]?.members, let connection = marks["connection"]?.integer,
      let generation = marks["generation"]?.integer, let event = marks["event"]?.integer,
      let versions = marks["versions"]?.members, let clock = marks["clock"]?.integer
    else { return nil }
    self.init(
      sequences: Dictionary(
        uniqueKeysWithValues: sequences.compactMap { row in row.value.integer.map { (row.name, $0) } }),
      connection: connection, generation: generation, event: event,
      versions: Dictionary(
        uniqueKeysWithValues: versions.compactMap { row in Ledger.Document(mark: row.value).map { (row.name, $0) } }),
      clock: clock)
  }

  init(
    sequences: [String: Int64], connection: Int64, generation: Int64, event: Int64,
    versions: [String: Ledger.Document], clock: Int64
  ) {
    self.sequences = sequences
    self.connection = connection
    self.generation = generation
    self.event = event
    self.versions = versions
    self.clock = clock
  }

  /// In the place of a kid, which it cannot be: ``Ledger/unknownKeys``.
  static let unknownKey = "*"
  var unknownKeys: Int64 { sequences[Self.unknownKey] ?? 0 }

  /// Of a device that has never reported.
  static let fresh = Marks(sequences: [:], connection: 0, generation: 0, event: 0, versions: [:], clock: 0)
  var isFresh: Bool { generation == 0 }

  var bytes: [UInt8] {
    let marks = json
    return JSON.object([JSON.Member("marks", marks), JSON.Member("sum", .string(Checksum.of("marks", marks.text)))])
      .bytes
  }
}

extension Ledger.Document {
  fileprivate var mark: JSON { ["ver": .integer(version), "digest": .string(digest)] }

  fileprivate init?(mark: JSON) {
    guard let version = mark["ver"]?.integer, let digest = mark["digest"]?.string else { return nil }
    self.init(version: version, digest: digest, token: nil)
  }
}

/// Tells a row that was written from one that has changed on the disk since.
enum Checksum {
  static func of(_ key: String, _ value: String) -> String {
    String(SHA256.text(of: Array("\(key)\u{0}\(value)".utf8)).prefix(22))
  }
}
