/// Reads a file line by line, whatever its size, in bounded memory.
public struct LineReader: ~Copyable {
  public enum Line: Hashable, Sendable {
    /// Without its end.
    case bytes([UInt8])
    /// Longer than allowed; what follows it is read as before.
    case tooLong
  }

  private static let step = 65_536
  private let file: Descriptor
  private let cap: Int
  private var buffer: [UInt8] = []
  /// Where the next line begins in the buffer.
  private var start = 0
  private var isAtEnd = false

  /// - Parameter cap: bytes of a line at most.
  public init(_ file: consuming Descriptor, cap: Int) {
    self.file = file
    self.cap = cap
  }

  /// nil at the end.
  public mutating func next() throws(SystemError) -> Line? {
    var isTooLong = false
    while true {
      if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { start = end + 1 }
        return isTooLong || end - start > cap ? .tooLong : .bytes(Array(buffer[start..<end]))
      }
      if buffer.count - start > cap {
        isTooLong = true
        start = buffer.count
      }
      if isAtEnd { return last(isTooLong) }
      try fill()
    }
  }

  /// The last line needs no end.
  private mutating func last(_ isTooLong: Bool) -> Line? {
    defer { start = buffer.count }
    if isTooLong { return .tooLong }
    return start < buffer.count ? .bytes(Array(buffer[start...])) : nil
  }

  private mutating func fill() throws(SystemError) {
    buffer.removeFirst(start)
    start = 0
    let more = try file.read(Self.step)
    isAtEnd = more.isEmpty
    buffer += more
  }
}
