import Posture

/// Everything that the attester has to remember, as a value.
struct Ledger: Hashable, Sendable {
  /// A signed document of the broker that is in force.
  struct Document: Hashable, Sendable {
    var version: Int64
    var digest: String
    /// nil where only the version is known any more.
    var token: String?
  }

  /// The key that signs; each key has its own sequence.
  var kid: String
  var sequence: Counter
  /// Once everything was lost, a key that nothing is known of may have been used up to this number.
  var unknownKeys: Int64 = 0
  /// Numbers of connections to the broker.
  var connection: Counter
  var chain: EventChain
  /// Of the last report; nil before the first.
  var verdict: Verdict?
  /// What was wrong at the last report, by ``Finding/identity``, with the time it was first seen.
  var findings: [String: Seen] = [:]
  /// `trust`, `policy/site`, `policy/group/NAME`.
  var documents: [String: Document] = [:]
  /// Why the last document of a kind (`policy`, `trust`) was refused; none after one that was taken.
  var refused: [String: String] = [:]
  /// A lower bound of the time, seconds since the epoch: the clock as it was last written.
  var clock: Int64 = 0
  /// Hours that the agent has run: an age that no wrong clock changes.
  var hours: Int64 = 0

  struct Seen: Hashable, Sendable {
    var brief: EventClaims.Brief
    /// Seconds since the epoch.
    var since: Int64
  }

  /// Begins anew, beyond the numbers that `marks` remember.
  init(kid: String, chain: EventChain, marks: Marks) {
    // The marks may be older than the journal was.
    let leap = marks.isFresh ? 0 : Counter.leap
    self.init(
      kid: kid, sequence: Counter(reserved: (marks.sequences[kid] ?? marks.unknownKeys) + leap),
      unknownKeys: marks.unknownKeys,
      connection: Counter(reserved: marks.connection + leap), chain: chain, verdict: nil, findings: [:],
      documents: marks.versions, refused: [:], clock: marks.clock, hours: 0)
  }

  init(
    kid: String, sequence: Counter, unknownKeys: Int64, connection: Counter, chain: EventChain, verdict: Verdict?,
    findings: [String: Seen], documents: [String: Document], refused: [String: String], clock: Int64, hours: Int64
  ) {
    self.kid = kid
    self.sequence = sequence
    self.unknownKeys = unknownKeys
    self.connection = connection
    self.chain = chain
    self.verdict = verdict
    self.findings = findings
    self.documents = documents
    self.refused = refused
    self.clock = clock
    self.hours = hours
  }

  /// What is remembered beside the journal.
  func marks(otherSequences: [String: Int64]) -> Marks {
    var sequences = otherSequences
    sequences[kid] = sequence.reserved
    if unknownKeys > 0 { sequences[Marks.unknownKey] = unknownKeys }
    return Marks(
      sequences: sequences, connection: connection.reserved, generation: chain.generation, event: chain.number,
      versions: documents.mapValues { Document(version: $0.version, digest: $0.digest, token: nil) }, clock: clock)
  }
}

extension Ledger {
  /// Raises what `marks` remember better.
  mutating func catchUp(with marks: Marks) {
    if let used = marks.sequences[kid], used > sequence.reserved { sequence = Counter(reserved: used) }
    unknownKeys = max(unknownKeys, marks.unknownKeys)
    if marks.connection > connection.reserved { connection = Counter(reserved: marks.connection) }
    for (slot, document) in marks.versions where document.version > documents[slot]?.version ?? 0 {
      documents[slot] = document
    }
    clock = max(clock, marks.clock)
  }
}
