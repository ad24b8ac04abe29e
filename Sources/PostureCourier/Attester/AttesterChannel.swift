import Glibc
import Posture
import PosturePlatform

/// Why a request to the attester has no answer.
enum AttesterLoss: Error, Hashable, Sendable, CustomStringConvertible {
  /// It is not there, or has gone.
  case gone(SystemError)
  case closed
  case silent
  case nonsense(FrameError)
  /// Too many requests wait.
  case full

  var description: String {
    switch self {
    case .gone(let error): "attester: \(error)"
    case .closed: "attester: connection closed"
    case .silent: "attester: no answer in time"
    case .nonsense(let error): "attester: \(error)"
    case .full: "attester: too many requests wait"
    }
  }
}

/// One connection to the attester, which answers in the order of the requests. It comes back by itself; used by one
/// thread, inside its poll(2).
final class AttesterChannel {
  typealias Answer = Result<AttesterAnswer, AttesterLoss>

  private struct Request {
    var request: AttesterRequest
    var deadline: Int64?
    var then: (Answer) -> Void
  }

  private static let queueCap = 256
  private static let retry: Int64 = 200
  private static let retryCap: Int64 = 10_000

  private let path: String
  /// Milliseconds a request may take; nil: as long as it likes.
  private let patience: Int64?
  private var socket: Descriptor?
  private var reader = FrameReader(cap: Frame.answerCap)
  private var output: ArraySlice<UInt8> = []
  /// The first `sent` of these have been written.
  private var requests: [Request] = []
  private var sent = 0
  private var retryAt: Int64 = .min
  private var failures = 0

  init(_ path: String, patience: Int64?) {
    self.path = path
    self.patience = patience
  }

  /// For poll(2): -1 where there is no connection.
  var polled: pollfd {
    let events = Int16(POLLIN) | (output.isEmpty ? 0 : Int16(POLLOUT))
    switch socket {
    case .some(let socket): return pollfd(fd: socket.number, events: events, revents: 0)
    case .none: return pollfd(fd: -1, events: 0, revents: 0)
    }
  }

  private var isOpen: Bool { polled.fd >= 0 }

  var deadline: Int64? {
    guard !requests.isEmpty else { return nil }
    let answers = requests.compactMap(\.deadline).min()
    return isOpen ? answers : min(retryAt, answers ?? retryAt)
  }

  /// `then` is called once, from here or from ``proceed(_:)`` or ``meet(_:)``.
  func ask(_ request: AttesterRequest, then: @escaping (Answer) -> Void) {
    guard requests.count < Self.queueCap else { return then(.failure(.full)) }
    let now = Clock.monotonicMilliseconds
    requests.append(Request(request: request, deadline: patience.map { now + $0 }, then: then))
    pushOut(now)
  }

  func proceed(_ events: Int16) {
    guard isOpen else { return }
    if events & Int16(POLLOUT) != 0 { write() }
    if events & Int16(POLLIN | POLLHUP | POLLERR) != 0 { read() }
  }

  func meet(_ now: Int64) {
    if requests.contains(where: { $0.deadline.map { now >= $0 } ?? false }) { fail(.silent, now) }
    pushOut(now)
  }

  /// Whoever waits is told so now.
  func giveUp(_ loss: AttesterLoss) {
    if !requests.isEmpty { fail(loss, Clock.monotonicMilliseconds) }
  }

  // MARK: Writing

  private func pushOut(_ now: Int64) {
    guard sent < requests.count, isOpen || connect(now) else { return }
    for request in requests[sent...] { output += request.request.frame }
    sent = requests.count
    write()
  }

  private func connect(_ now: Int64) -> Bool {
    guard now >= retryAt else { return false }
    do throws(SystemError) {
      socket = try UnixSocket.connect(path, isBlocking: false)
      reader = FrameReader(cap: Frame.answerCap)
      return true
    } catch {
      backOff(now)
      // Whoever may wait goes on waiting; the rest is told.
      if failures > 1 { answerAll(.gone(error)) }
      return false
    }
  }

  private func backOff(_ now: Int64) {
    retryAt = now + min(Self.retryCap, Self.retry << min(failures, 10))
    failures += 1
  }

  private func write() {
    let number = polled.fd
    do throws(SystemError) {
      while !output.isEmpty {
        let count = try UnixSocket.send(number, output)
        guard count > 0 else { return }
        output = output.dropFirst(count)
      }
      output = []
    } catch { fail(.gone(error), Clock.monotonicMilliseconds) }
  }

  // MARK: Reading

  private func read() {
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try receive() } catch {
      if error.errno != EAGAIN { fail(.gone(error), Clock.monotonicMilliseconds) }
      return
    }
    guard !bytes.isEmpty else { return fail(.closed, Clock.monotonicMilliseconds) }
    reader.append(bytes)
    do throws(FrameError) {
      while isOpen, let payload = try reader.next() { try answer(payload) }
    } catch { fail(.nonsense(error), Clock.monotonicMilliseconds) }
  }

  private func receive() throws(SystemError) -> [UInt8] {
    switch socket {
    case .some(let socket): try socket.read(65_536, path)
    case .none: []
    }
  }

  private func answer(_ payload: [UInt8]) throws(FrameError) {
    let answer = try AttesterAnswer(payload: payload)
    guard sent > 0 else { throw FrameError(.shape, "an answer nobody asked for") }
    failures = 0
    sent -= 1
    requests.removeFirst().then(.success(answer))
  }

  // MARK: Failing

  /// What was asked on this connection is answered with `loss`; a new connection is made when it is needed.
  private func fail(_ loss: AttesterLoss, _ now: Int64) {
    socket = nil
    output = []
    backOff(now)
    answerAll(loss)
  }

  private func answerAll(_ loss: AttesterLoss) {
    let unanswered = requests
    requests = []
    sent = 0
    for request in unanswered { request.then(.failure(loss)) }
  }
}
