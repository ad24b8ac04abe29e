/// One message on the attester's socket: its length (4 bytes, big-endian), then that many bytes of JSON.
public enum Frame {
  /// Largest request: a trust document, and what is around it.
  public static let requestCap = 128 << 10
  /// Largest answer: a batch of events.
  public static let answerCap = 1 << 20

  /// `payload` with its length before it.
  public static func encode(_ payload: [UInt8]) -> [UInt8] {
    let count = UInt32(payload.count)
    return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + payload
  }
}

/// Why a frame or what is in it is not taken.
public struct FrameError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: String, Sendable {
    /// Longer than its side may send: the stream cannot be read on.
    case tooLarge
    case empty
    case json
    /// JSON, but none of the messages of the list.
    case shape
  }
  public let code: Code
  public let why: String

  public init(_ code: Code, _ why: String) {
    self.code = code
    self.why = why
  }

  public var description: String { "bad frame (\(code.rawValue)): \(why)" }
}

/// Cuts the bytes of a stream into frames, as they come.
public struct FrameReader: Sendable {
  private let cap: Int
  private var buffer: [UInt8] = []
  private var start = 0

  /// - Parameter cap: largest payload that is taken, in bytes.
  public init(cap: Int) { self.cap = cap }

  /// Bytes that wait for the rest of their frame.
  public var pending: Int { buffer.count - start }

  public mutating func append(_ bytes: some Sequence<UInt8>) {
    if start > 0 {
      buffer.removeFirst(start)
      start = 0
    }
    buffer += bytes
  }

  /// The payload of the next whole frame, nil where more bytes are needed. After an error the stream is of no more use.
  public mutating func next() throws(FrameError) -> [UInt8]? {
    guard pending >= 4 else { return nil }
    let length = buffer[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
    guard length <= cap else { throw FrameError(.tooLarge, "\(length) bytes, at most \(cap)") }
    guard length > 0 else { throw FrameError(.empty, "no bytes") }
    guard pending >= 4 + length else { return nil }
    let payload = Array(buffer[(start + 4)..<(start + 4 + length)])
    start += 4 + length
    return payload
  }
}
