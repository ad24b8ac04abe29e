import Posture
import Testing

@Suite struct AttesterProtocolTests {
  static let requests: [AttesterRequest] =
    [
      .report(nonces: [], cause: .start), .report(nonces: ["abcdefgh", "1234567890_-"], cause: .recheck),
      .events(after: 0, limit: 256), .events(after: .max, limit: 1), .acknowledge(chain: "chain-01", eseq: 7),
      .presence(.init(id: "conn-1234")),
      .presence(.init(id: "conn-1234", counters: ["forged": 3, "accepted": 0])),
      .policy(token: "a.b.c"), .trust(token: "A_-9.b.c"), .watch(after: 0), .watch(after: 12), .status,
      .request(tls: [0x30, 0x00]), .renewal(token: "a.b.c"),
      .courier(["connected": true]),
    ] + ReportCause.allCases.map { .report(nonces: [], cause: $0) }
    + ProgressState.allCases.map { .progress(command: "jti-0001", state: $0) }
    + RefusalCode.allCases.map {
      .refusal(command: "jti-0001", controller: String(repeating: "k", count: 43), code: $0)
    }

  static let answers: [AttesterAnswer] =
    [
      .token("a.b.c"), .presence(birth: "a.b.c", will: "d.e.f", number: 9), .events(chain: "chain-01", []),
      .events(chain: "chain-01", [.init(eseq: 1, token: "a.b.c"), .init(eseq: 5, token: "d.e.f")]), .done,
      .status(["seq": 3]),
    ] + WatchCoverage.allCases.map { .changed(number: 3, coverage: $0) }
    + AttesterFailure.allCases.map { .failed(code: $0, why: "because “é”") }

  private func payload(_ frame: [UInt8]) throws -> [UInt8] {
    var reader = FrameReader(cap: Frame.answerCap)
    reader.append(frame)
    let payload = try #require(try reader.next())
    #expect(reader.pending == 0)
    return payload
  }

  @Test(arguments: requests) func `a request comes back as it was sent`(_ request: AttesterRequest) throws {
    #expect(try AttesterRequest(payload: payload(request.frame)) == request)
  }

  @Test(arguments: answers) func `an answer comes back as it was sent`(_ answer: AttesterAnswer) throws {
    #expect(try AttesterAnswer(payload: payload(answer.frame)) == answer)
  }

  @Test(arguments: [
    "[]", "1", "{}", #"{"verb":7}"#, #"{"verb":"shell"}"#, #"{"verb":"status","x":1}"#, #"{"verb":"status"} "x""#,
    #"{"verb":"status","verb":"status"}"#, #"{"verb":"report","nonces":[]}"#,
    #"{"verb":"report","nonces":["short"],"cause":"start"}"#, #"{"verb":"report","nonces":[12345678],"cause":"start"}"#,
    #"{"verb":"report","nonces":[],"cause":"whim"}"#, #"{"verb":"events","after":-1,"limit":1}"#,
    #"{"verb":"events","after":0,"limit":0}"#, #"{"verb":"events","after":0,"limit":257}"#,
    #"{"verb":"events","after":1.0,"limit":1}"#, #"{"verb":"acknowledge","chain":"chain-01","eseq":0}"#,
    #"{"verb":"acknowledge","chain":"chain-01","eseq":"1"}"#,
    #"{"verb":"acknowledge","chain":"chain-01","eseq":9223372036854775808}"#,
    #"{"verb":"policy","token":"a.b"}"#, #"{"verb":"policy","token":"a..c"}"#, #"{"verb":"policy","token":"a.b.c="}"#,
    #"{"verb":"policy","token":"a.b.c\n"}"#, #"{"verb":"watch"}"#, #"{"verb":"courier","state":[]}"#,
    #"{"verb":"request","tls":""}"#, #"{"verb":"request","tls":"a=="}"#, #"{"verb":"renewal","token":"a.b"}"#,
    #"{"verb":"progress","command":"","state":"running"}"#,
    #"{"verb":"progress","command":"\u0000","state":"running"}"#,
    #"{"verb":"presence","connection":"abcdefgh","counters":{"a":-1}}"#,
    #"{"verb":"presence","connection":"abcdefgh","counters":[]}"#,
  ])
  func `what is none of the list is refused`(_ text: String) {
    #expect(throws: FrameError.self) { try AttesterRequest(payload: Array(text.utf8)) }
  }

  @Test(arguments: [
    #"{"answer":"token"}"#, #"{"answer":"done","x":1}"#,
    #"{"answer":"events","chain":"chain-01","events":[{"eseq":1}]}"#,
    #"{"answer":"events","chain":"chain-01","events":[{"eseq":2,"token":"a.b.c"},{"eseq":2,"token":"a.b.c"}]}"#,
    #"{"answer":"changed","number":1,"coverage":"most"}"#, #"{"answer":"failed","code":"mood","why":""}"#,
  ])
  func `an answer that is none of the list is refused`(_ text: String) {
    #expect(throws: FrameError.self) { try AttesterAnswer(payload: Array(text.utf8)) }
  }

  @Test func `frames are cut out of a stream, however it arrives`() throws {
    let stream = Self.requests.flatMap(\.frame)
    for step in [1, 3, 7, 64, stream.count] {
      var reader = FrameReader(cap: Frame.requestCap)
      var seen: [AttesterRequest] = []
      for start in stride(from: 0, to: stream.count, by: step) {
        reader.append(stream[start..<min(start + step, stream.count)])
        while let payload = try reader.next() { seen.append(try AttesterRequest(payload: payload)) }
      }
      #expect(seen == Self.requests)
      #expect(reader.pending == 0)
    }
  }

  @Test func `a length beyond the cap or of nothing ends the stream`() {
    for head: [UInt8] in [[0xFF, 0xFF, 0xFF, 0xFF], [0, 2, 0, 1], [0, 0, 0, 0]] {
      var reader = FrameReader(cap: Frame.requestCap)
      reader.append(head)
      #expect(throws: FrameError.self) { try reader.next() }
    }
  }

  @Test func `no mutation of a message crashes the reader`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed \(seed)")
    var generator = SplitMix(state: seed)
    let payloads = try (Self.requests.map(\.frame) + Self.answers.map(\.frame)).map(payload)
    var taken = 0
    for _ in 0..<20_000 {
      var bytes = payloads.randomElement(using: &generator) ?? []
      for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
        let at = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0...2, using: &generator) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes.remove(at: at)
        default: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: at)
        }
      }
      if let request = try? AttesterRequest(payload: bytes) {
        taken += 1
        #expect(try AttesterRequest(payload: payload(request.frame)) == request)
      }
      _ = try? AttesterAnswer(payload: bytes)
    }
    print("still a request after mutation: \(taken) of 20000")
  }
}

private struct SplitMix: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
