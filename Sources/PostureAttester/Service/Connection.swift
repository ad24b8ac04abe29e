import Glibc
import Posture
import PosturePlatform

/// One client of the socket: what it sent and has not been answered, and what it has not read yet.
final class Connection {
  /// Why the next request has to wait.
  enum Waiting: Hashable {
    case report
    case watch(after: Int64)
  }

  /// Requests that may wait for their turn; then nothing more is read.
  private static let mostRequests = 16
  /// Bytes that may wait for a client that does not read; then it is not worth waiting for.
  private static let mostOutput = 4 << 20

  let descriptor: Descriptor
  var waiting: Waiting?
  private var reader = FrameReader(cap: Frame.requestCap)
  private var requests: [Result<AttesterRequest, FrameError>] = []
  private var output: ArraySlice<UInt8> = []
  /// Nothing more can be read from it.
  private var isAtEnd = false
  /// Nothing more is to be done for it.
  private(set) var isGone = false

  init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// For poll(2).
  var events: Int16 {
    let input = isAtEnd || requests.count >= Self.mostRequests ? 0 : POLLIN
    return Int16(input | (output.isEmpty ? 0 : POLLOUT))
  }

  /// The next request that may be answered now.
  func next() -> Result<AttesterRequest, FrameError>? {
    guard !isGone, waiting == nil, !requests.isEmpty else { return nil }
    return requests.removeFirst()
  }

  /// Takes what has come. A client that closes wants no answer any more.
  func receive() {
    do {
      let bytes = try descriptor.read(65_536)
      if bytes.isEmpty { isGone = true }
      reader.append(bytes)
      while let payload = try reader.next() { requests.append(Self.request(payload)) }
    } catch let error as FrameError {
      // Where the next frame begins cannot be told any more.
      requests.append(.failure(error))
      isAtEnd = true
    } catch let error as SystemError {
      if error.errno != EAGAIN { isGone = true }
    } catch {
      isGone = true
    }
  }

  private static func request(_ payload: [UInt8]) -> Result<AttesterRequest, FrameError> {
    Result { () throws(FrameError) in try AttesterRequest(payload: payload) }
  }

  func answer(_ answer: AttesterAnswer) {
    output += answer.frame
    if output.count > Self.mostOutput { isGone = true }
  }

  func flush() {
    do throws(SystemError) {
      while !output.isEmpty {
        let count = try UnixSocket.send(descriptor.number, output)
        guard count > 0 else { return }
        output = output.dropFirst(count)
      }
    } catch { isGone = true }
    output = []
    if isAtEnd, requests.isEmpty, waiting == nil { isGone = true }
  }
}
