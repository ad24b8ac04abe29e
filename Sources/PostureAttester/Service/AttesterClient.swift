import Glibc
public import Posture
public import PosturePlatform

/// Asks a running attester, and waits for each answer: for the command line.
public struct AttesterClient: ~Copyable {
  private let socket: Descriptor
  private var reader = FrameReader(cap: Frame.answerCap)

  public init(_ path: String) throws(SystemError) { socket = try UnixSocket.connect(path) }

  /// - Parameter timeout: milliseconds.
  public mutating func ask(_ request: AttesterRequest, timeout: Int64 = 60_000) throws(AttesterError) -> AttesterAnswer
  {
    let deadline = Clock.boottimeMilliseconds + timeout
    do throws(SystemError) {
      var rest = request.frame[...]
      while !rest.isEmpty { rest = rest.dropFirst(try UnixSocket.send(socket.number, rest)) }
    } catch { throw AttesterError(.internal, error.description) }
    while true {
      let payload: [UInt8]?
      do throws(FrameError) { payload = try reader.next() } catch { throw AttesterError(.internal, error.description) }
      guard let payload else {
        try receive(until: deadline)
        continue
      }
      do throws(FrameError) { return try AttesterAnswer(payload: payload) } catch {
        throw AttesterError(.internal, error.description)
      }
    }
  }

  private mutating func receive(until deadline: Int64) throws(AttesterError) {
    var polled = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
    let left = deadline - Clock.boottimeMilliseconds
    guard left > 0, poll(&polled, 1, Int32(clamping: left)) > 0 else {
      throw AttesterError(.internal, "no answer in time")
    }
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try socket.read(65_536) } catch {
      throw AttesterError(.internal, error.description)
    }
    guard !bytes.isEmpty else { throw AttesterError(.internal, "the attester closed the connection") }
    reader.append(bytes)
  }
}
