import Glibc
import Posture
import PosturePlatform
import PostureTokens
import Synchronization
import TestKit

/// Plays the attester's part on its socket: signs what it is asked for with a key of its own, and does worse on demand.
final class ScriptedAttester: Sendable {
  enum Mood: Sendable {
    case honest, silent, hangingUp, babbling, flooding
  }

  struct State {
    var mood = Mood.honest
    var requests: [AttesterRequest] = []
    var journal: [AttesterAnswer.NumberedToken] = []
    var changes: Int64 = 0
    var connection: Int64 = 0
    var reports: Int64 = 0
    var events: Int64 = 0
    /// Milliseconds that an examination takes.
    var duration: Int64 = 20
  }

  let path: String
  let key: FileKey
  private let party: Party
  private let state = Mutex(State())
  private let isOver = Mutex(false)
  private let listener: Mutex<Int32>

  init(_ path: String, party: Party) throws {
    self.path = path
    self.party = party
    key = try FileKey.generate()
    listener = Mutex(-1)
    try start()
  }

  deinit { stop() }

  func start() throws {
    let number = try UnixSocket.listen(path).release()
    listener.withLock { $0 = number }
    isOver.withLock { $0 = false }
    _ = try Thread.start("attester") { [weak self] in self?.acceptAll(number) }
  }

  /// The process is gone, and its socket with it.
  func stop() {
    isOver.withLock { $0 = true }
    unlink(path)
    listener.withLock {
      if $0 >= 0 { shutdown($0, Int32(SHUT_RDWR)) }
      $0 = -1
    }
  }

  func set(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
  var requests: [AttesterRequest] { state.withLock { $0.requests } }
  var journal: [AttesterAnswer.NumberedToken] { state.withLock { $0.journal } }

  func count(_ isIt: (AttesterRequest) -> Bool) -> Int { requests.count(where: isIt) }

  /// Puts `count` events into the journal.
  func addEvents(_ count: Int) throws {
    for _ in 0..<count {
      let number = state.withLock { state in
        state.events += 1
        return state.events
      }
      let token = try sign(.event, ["iss": .string(party.urn), "eseq": .integer(number)])
      state.withLock { $0.journal.append(.init(eseq: number, token: token)) }
    }
  }

  private func sign(_ kind: TokenKind, _ claims: JSON) throws -> String {
    try TokenEncoder.encode(kind, claims, with: key)
  }

  // MARK: Serving

  private func acceptAll(_ number: Int32) {
    let listener = Descriptor(owning: number)
    while !isOver.withLock({ $0 }) {
      var polled = pollfd(fd: listener.number, events: Int16(POLLIN), revents: 0)
      guard poll(&polled, 1, 50) > 0 else { continue }
      guard let accepted = UnixSocket.accept(listener.number) else { return }
      let socket = accepted.release()
      _ = try? Thread.start("attester-client") { [weak self] in self?.serve(Descriptor(owning: socket)) }
    }
  }

  private func serve(_ socket: consuming Descriptor) {
    var reader = FrameReader(cap: Frame.requestCap)
    while !isOver.withLock({ $0 }) {
      var polled = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
      guard poll(&polled, 1, 50) > 0 else { continue }
      guard let bytes = try? socket.read(65_536), !bytes.isEmpty else { return }
      reader.append(bytes)
      while let payload = try? reader.next() {
        guard let request = try? AttesterRequest(payload: payload), answer(request, socket.number) else { return }
      }
    }
  }

  /// False where the connection ends.
  private func answer(_ request: AttesterRequest, _ socket: Int32) -> Bool {
    let mood = state.withLock { state in
      state.requests.append(request)
      return state.mood
    }
    switch mood {
    case .honest: break
    case .silent: return true
    case .hangingUp: return false
    case .babbling: return send(Frame.encode(Array("{\"answer\":\"what\"}".utf8)), socket)
    case .flooding: return send([0xFF, 0xFF, 0xFF, 0xFF] + Array(repeating: 7, count: 1 << 20), socket)
    }
    guard let answer = try? honestAnswer(request) else { return false }
    return send(answer.frame, socket)
  }

  private func send(_ bytes: [UInt8], _ socket: Int32) -> Bool {
    var left = bytes[...]
    while !left.isEmpty {
      guard let count = try? UnixSocket.send(socket, left) else { return false }
      if count == 0 { usleep(1_000) }
      left = left.dropFirst(count)
    }
    return true
  }

  private func honestAnswer(_ request: AttesterRequest) throws -> AttesterAnswer {
    switch request {
    case .report(let nonces, let cause):
      usleep(UInt32(state.withLock { $0.duration } * 1_000))
      let number = state.withLock { state in
        state.reports += 1
        return state.reports
      }
      return .token(
        try sign(
          .report,
          [
            "iss": .string(party.urn), "iat": .integer(Clock.wall), "exp": .integer(Clock.wall + 3_900),
            "seq": .integer(number), "cause": .string(cause.rawValue),
            "eat_nonce": .array(nonces.map(JSON.string)),
          ]))
    case .events(let after, let limit):
      return .events(
        chain: "chain-0001", Array(journal.filter { $0.eseq > after }.prefix(limit)))
    case .acknowledge(_, let number):
      state.withLock { $0.journal.removeAll { $0.eseq <= number } }
      return .done
    case .presence(let connection): return try presence(connection)
    case .progress(let command, let progress):
      return .token(
        try sign(.progress, ["jti": .string(command), "state": .string(progress.rawValue)]))
    case .refusal(let command, let controller, let code):
      return .token(
        try sign(
          .refusal,
          ["jti": .string(command), "controller": .string(controller), "code": .string(code.rawValue)]))
    case .policy, .trust, .courier, .renewal: return .done
    case .request(let tls):
      let claims = EnrolmentRequestClaims(
        name: party.name, issuedAt: Clock.wall, key: key.publicKey.jwk, keyProtection: .file, tlsRequest: tls)
      return .token(try sign(.request, claims.claims))
    case .watch(let after):
      while state.withLock({ $0.changes }) == after, !isOver.withLock({ $0 }) { usleep(5_000) }
      return .changed(number: state.withLock { $0.changes }, coverage: .complete)
    case .status: return .status(["courier": .null])
    }
  }

  private func presence(_ connection: AttesterRequest.Connection) throws -> AttesterAnswer {
    let number = state.withLock { state in
      state.connection += 1
      return state.connection
    }
    func token(_ online: PresenceClaims.State) throws -> String {
      let claims = PresenceClaims(
        issuer: party, issuedAt: Clock.wall, state: online, connection: connection.id, number: number, clock: .synced)
      return try sign(.presence, claims.claims)
    }
    return .presence(birth: try token(.online), will: try token(.offline), number: number)
  }
}
