import Posture

/// The ledger as rows of the journal: a key and a value each, so that a change writes only what it changes.
extension Ledger {
  var rows: [String: String] {
    var rows: [String: String] = [
      "seq/\(kid)": String(sequence.reserved), "connection": String(connection.reserved),
      "chain": JSON.build { object in
        object("id", .string(chain.id))
        object("generation", .integer(chain.generation))
        object("number", .integer(chain.number))
        object("head", optional: chain.head)
      }.text,
      "clock": String(clock), "hours": String(hours),
    ]
    if unknownKeys > 0 { rows["seq/\(Marks.unknownKey)"] = String(unknownKeys) }
    rows["verdict"] = verdict?.rawValue
    for link in chain.waiting { rows["event/\(link.number)"] = link.json.text }
    for (identity, seen) in findings { rows["finding/\(identity)"] = seen.json.text }
    for (slot, document) in documents { rows["document/\(slot)"] = document.json.text }
    for (kind, why) in refused { rows["refused/\(kind)"] = why }
    return rows
  }

  /// nil where the rows are not those of one ledger. A new key has no sequence yet.
  init?(rows: [String: String], kid: String) {
    guard let chain = EventChain(rows: rows), let connection = rows["connection"].flatMap(Int64.init),
      let clock = rows["clock"].flatMap(Int64.init), let hours = rows["hours"].flatMap(Int64.init)
    else { return nil }
    let verdict = rows["verdict"].map { Verdict(rawValue: $0) }
    guard verdict != .some(nil) else { return nil }
    guard let findings = Self.read(rows, "finding/", Seen.init(json:)),
      let documents = Self.read(rows, "document/", Document.init(json:))
    else { return nil }
    guard let reserved = Self.sequence(rows, kid), let unknownKeys = Self.sequence(rows, Marks.unknownKey)
    else { return nil }
    self.init(
      kid: kid, sequence: Counter(reserved: reserved), unknownKeys: unknownKeys,
      connection: Counter(reserved: connection),
      chain: chain, verdict: verdict ?? nil, findings: findings, documents: documents,
      refused: Self.below("refused/", rows), clock: clock, hours: hours)
  }

  /// 0 where there is none; nil where it is no number.
  private static func sequence(_ rows: [String: String], _ kid: String) -> Int64? {
    rows["seq/\(kid)"].map { Int64($0) } ?? 0
  }

  private static func below(_ prefix: String, _ rows: [String: String]) -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: rows.filter { $0.key.hasPrefix(prefix) }.map {
        (String($0.key.dropFirst(prefix.count)), $0.value)
      })
  }

  /// The values below `prefix`; nil where one is none.
  fileprivate static func read<Value>(
    _ rows: [String: String], _ prefix: String, _ value: (JSON) -> Value?
  ) -> [String: Value]? {
    var result: [String: Value] = [:]
    for (key, text) in rows where key.hasPrefix(prefix) {
      guard let json = try? JSONParser.parse(text, limits: JSONParser.Limits(bytes: 1 << 20, depth: 8)),
        let value = value(json)
      else { return nil }
      result[String(key.dropFirst(prefix.count))] = value
    }
    return result
  }
}

extension EventChain {
  fileprivate init?(rows: [String: String]) {
    guard let own = rows["chain"].flatMap({ try? JSONParser.parse($0) }), let id = own["id"]?.string,
      let generation = own["generation"]?.integer, let number = own["number"]?.integer,
      let links = Ledger.read(rows, "event/", Link.init(json:)),
      links.allSatisfy({ $0.key == String($0.value.number) })
    else { return nil }
    self.init(id: id, generation: generation)
    self.number = number
    head = own["head"]?.string
    waiting = links.values.sorted { $0.number < $1.number }
    guard isWhole else { return nil }
  }
}

extension EventChain.Link {
  fileprivate var json: JSON {
    .build { object in
      object("number", .integer(number))
      object("first", .integer(first))
      object("previous", optional: previous)
      object("digest", .string(digest))
      object("made", .integer(made))
      object("token", .string(token))
    }
  }

  fileprivate init?(json: JSON) {
    guard let number = json["number"]?.integer, let first = json["first"]?.integer,
      let digest = json["digest"]?.string, let made = json["made"]?.integer, let token = json["token"]?.string
    else { return nil }
    self.init(
      number: number, first: first, previous: json["previous"]?.string, digest: digest, made: made, token: token)
  }
}

extension Ledger.Seen {
  fileprivate var json: JSON {
    .build { object in
      object("since", .integer(since))
      object("code", .string(brief.code))
      object("check", .string(brief.check.rawValue))
      object("subject", .string(brief.subject))
      object("door", optional: brief.door)
    }
  }

  fileprivate init?(json: JSON) {
    guard let since = json["since"]?.integer, let code = json["code"]?.string,
      let check = json["check"]?.string.flatMap(CheckName.init(rawValue:)), let subject = json["subject"]?.string
    else { return nil }
    self.init(
      brief: EventClaims.Brief(code: code, check: check, subject: subject, door: json["door"]?.string), since: since)
  }
}

extension Ledger.Document {
  fileprivate var json: JSON {
    .build { object in
      object("ver", .integer(version))
      object("digest", .string(digest))
      object("token", optional: token)
    }
  }

  fileprivate init?(json: JSON) {
    guard let version = json["ver"]?.integer, let digest = json["digest"]?.string else { return nil }
    self.init(version: version, digest: digest, token: json["token"]?.string)
  }
}
