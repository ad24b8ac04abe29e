/// The JSON of ``AttesterRequest`` and ``AttesterAnswer``. Reading is strict: every member has its bounds, and one that
/// is not of the list is an error.
extension AttesterRequest {
  /// At most this many nonces are echoed by one report.
  public static let nonceCap = ReportClaims.mostNonces
  /// At most this many events are handed out at once.
  public static let eventCap = 256

  /// The whole frame.
  public var frame: [UInt8] { Frame.encode(json.bytes) }

  public init(payload: [UInt8]) throws(FrameError) {
    let message = try Fields(payload, cap: Frame.requestCap, kind: "verb")
    switch message.kind {
    case "report":
      try message.only("nonces", "cause")
      self = .report(
        nonces: try message.strings("nonces", upTo: Self.nonceCap, bytes: 8...88), cause: try message.word("cause"))
    case "events":
      try message.only("after", "limit")
      self = .events(
        after: try message.integer("after", 0...Int64.max),
        limit: Int(try message.integer("limit", 1...Int64(Self.eventCap))))
    case "acknowledge":
      try message.only("chain", "eseq")
      self = .acknowledge(
        chain: try message.string("chain", bytes: 8...88), eseq: try message.integer("eseq", 1...Int64.max))
    case "presence":
      try message.only("connection", "counters")
      self = .presence(
        Connection(
          id: try message.string("connection", bytes: 8...88),
          counters: try message.counters("counters")))
    case "progress":
      try message.only("command", "state")
      self = .progress(command: try message.string("command", bytes: 8...88), state: try message.word("state"))
    case "refusal":
      try message.only("command", "controller", "code")
      self = .refusal(
        command: try message.string("command", bytes: 8...88),
        controller: try message.string("controller", bytes: 43...43), code: try message.word("code"))
    case "policy":
      try message.only("token")
      self = .policy(token: try message.token("token"))
    case "trust":
      try message.only("token")
      self = .trust(token: try message.token("token"))
    case "request":
      try message.only("tls")
      guard let tls = Base64URL.decode(try message.string("tls", bytes: 1...4_096)) else {
        throw FrameError(.shape, "request: bad tls")
      }
      self = .request(tls: tls)
    case "renewal":
      try message.only("token")
      self = .renewal(token: try message.token("token"))
    case "watch":
      try message.only("after")
      self = .watch(after: try message.integer("after", 0...Int64.max))
    case "status":
      try message.only()
      self = .status
    case "courier":
      try message.only("state")
      self = .courier(try message.document("state", cap: 4096))
    default: throw FrameError(.shape, "unknown verb")
    }
  }

  private var json: JSON {
    switch self {
    case .report(let nonces, let cause):
      ["verb": "report", "nonces": .array(nonces.map(JSON.string)), "cause": .string(cause.rawValue)]
    case .events(let after, let limit):
      ["verb": "events", "after": .integer(after), "limit": .integer(Int64(limit))]
    case .acknowledge(let chain, let eseq):
      ["verb": "acknowledge", "chain": .string(chain), "eseq": .integer(eseq)]
    case .presence(let connection):
      [
        "verb": "presence", "connection": .string(connection.id),
        "counters": .object(
          connection.counters.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .integer($0.value)) }),
      ]
    case .progress(let command, let state):
      ["verb": "progress", "command": .string(command), "state": .string(state.rawValue)]
    case .refusal(let command, let controller, let code):
      [
        "verb": "refusal", "command": .string(command), "controller": .string(controller),
        "code": .string(code.rawValue),
      ]
    case .policy(let token): ["verb": "policy", "token": .string(token)]
    case .trust(let token): ["verb": "trust", "token": .string(token)]
    case .request(let tls): ["verb": "request", "tls": .string(Base64URL.encode(tls))]
    case .renewal(let token): ["verb": "renewal", "token": .string(token)]
    case .watch(let after): ["verb": "watch", "after": .integer(after)]
    case .status: ["verb": "status"]
    case .courier(let state): ["verb": "courier", "state": state]
    }
  }
}

extension AttesterAnswer {
  /// The whole frame.
  public var frame: [UInt8] { Frame.encode(json.bytes) }

  public init(payload: [UInt8]) throws(FrameError) {
    let message = try Fields(payload, cap: Frame.answerCap, kind: "answer")
    switch message.kind {
    case "token":
      try message.only("token")
      self = .token(try message.token("token"))
    case "presence":
      try message.only("birth", "will", "number")
      self = .presence(
        birth: try message.token("birth"), will: try message.token("will"),
        number: try message.integer("number", 1...Int64.max))
    case "events":
      try message.only("chain", "events")
      self = .events(chain: try message.string("chain", bytes: 8...88), try message.events("events"))
    case "done":
      try message.only()
      self = .done
    case "changed":
      try message.only("number", "coverage")
      self = .changed(number: try message.integer("number", 0...Int64.max), coverage: try message.word("coverage"))
    case "status":
      try message.only("status")
      self = .status(try message.document("status", cap: Frame.requestCap))
    case "failed":
      try message.only("code", "why")
      self = .failed(code: try message.word("code"), why: try message.text("why", cap: 1024))
    default: throw FrameError(.shape, "unknown answer")
    }
  }

  private var json: JSON {
    switch self {
    case .token(let token): ["answer": "token", "token": .string(token)]
    case .presence(let birth, let will, let number):
      ["answer": "presence", "birth": .string(birth), "will": .string(will), "number": .integer(number)]
    case .events(let chain, let events):
      [
        "answer": "events", "chain": .string(chain),
        "events": .array(events.map { ["eseq": .integer($0.eseq), "token": .string($0.token)] }),
      ]
    case .done: ["answer": "done"]
    case .changed(let number, let coverage):
      ["answer": "changed", "number": .integer(number), "coverage": .string(coverage.rawValue)]
    case .status(let status): ["answer": "status", "status": status]
    case .failed(let code, let why):
      ["answer": "failed", "code": .string(code.rawValue), "why": .string(String(why.unicodeScalars.prefix(250)))]
    }
  }
}

/// The members of one message, each taken with its bounds.
private struct Fields {
  let kind: String
  private let kindName: String
  private let members: [JSON.Member]

  init(_ payload: [UInt8], cap: Int, kind name: String) throws(FrameError) {
    let json: JSON
    do throws(JSONError) {
      json = try JSONParser.parse(payload, limits: JSONParser.Limits(bytes: cap, depth: 10))
    } catch { throw FrameError(.json, error.description) }
    guard let members = json.members, let kind = json[name]?.string else {
      throw FrameError(.shape, "no object with a string \"\(name)\"")
    }
    self.kind = kind
    kindName = name
    self.members = members
  }

  /// Neither more members than these nor fewer.
  func only(_ names: String...) throws(FrameError) {
    guard members.count == names.count + 1, members.allSatisfy({ names.contains($0.name) || $0.name == kindName })
    else { throw FrameError(.shape, "\(kind) has the members: \(names.joined(separator: " "))") }
  }

  private func value(_ name: String) throws(FrameError) -> JSON {
    guard let member = members.first(where: { $0.name == name }) else { throw bad(name) }
    return member.value
  }

  private func bad(_ name: String) -> FrameError { FrameError(.shape, "\(kind): bad \(name)") }

  func integer(_ name: String, _ range: ClosedRange<Int64>) throws(FrameError) -> Int64 {
    guard let number = try value(name).integer, range.contains(number) else { throw bad(name) }
    return number
  }

  /// Printable ASCII.
  func string(_ name: String, bytes: ClosedRange<Int>) throws(FrameError) -> String {
    guard let text = try value(name).string, isPlain(text, bytes) else { throw bad(name) }
    return text
  }

  /// Any text.
  func text(_ name: String, cap: Int) throws(FrameError) -> String {
    guard let text = try value(name).string, text.utf8.count <= cap else { throw bad(name) }
    return text
  }

  private func isPlain(_ text: String, _ bytes: ClosedRange<Int>) -> Bool {
    bytes.contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  func strings(_ name: String, upTo count: Int, bytes: ClosedRange<Int>) throws(FrameError) -> [String] {
    guard let texts = try value(name).strings, texts.count <= count, texts.allSatisfy({ isPlain($0, bytes) }) else {
      throw bad(name)
    }
    return texts
  }

  func word<Word: RawRepresentable<String>>(_ name: String) throws(FrameError) -> Word {
    guard let word = try value(name).string.flatMap(Word.init(rawValue:)) else { throw bad(name) }
    return word
  }

  func token(_ name: String) throws(FrameError) -> String {
    guard let text = try value(name).string, isToken(text) else { throw bad(name) }
    return text
  }

  /// Three parts of base64url (RFC 7515 section 7.1); whether they mean anything is for others to say.
  private func isToken(_ text: String) -> Bool {
    let parts = Array(text.utf8).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 3 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(isBase64URL) }
  }

  private func isBase64URL(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  func document(_ name: String, cap: Int) throws(FrameError) -> JSON {
    let json = try value(name)
    guard json.members != nil, json.bytes.count <= cap else { throw bad(name) }
    return json
  }

  /// An object of at most 32 numbers that are not negative.
  func counters(_ name: String) throws(FrameError) -> [String: Int64] {
    guard let members = try value(name).members, members.count <= 32 else { throw bad(name) }
    var counters: [String: Int64] = [:]
    for member in members {
      guard isPlain(member.name, 1...32), let count = member.value.integer, count >= 0 else { throw bad(name) }
      counters[member.name] = count
    }
    return counters
  }

  func events(_ name: String) throws(FrameError) -> [AttesterAnswer.NumberedToken] {
    guard let rows = try value(name).array, rows.count <= AttesterRequest.eventCap else { throw bad(name) }
    var events: [AttesterAnswer.NumberedToken] = []
    for row in rows {
      guard row.members?.count == 2, let eseq = row["eseq"]?.integer, eseq > events.last?.eseq ?? 0,
        let token = row["token"]?.string, isToken(token)
      else { throw bad(name) }
      events.append(AttesterAnswer.NumberedToken(eseq: eseq, token: token))
    }
    return events
  }
}
