import CLinux

/// The two ends of a pipe(2), each closed when it is dropped.
public struct Pipe: ~Copyable, Sendable {
  public let reader: Descriptor
  public let writer: Descriptor

  public init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    try retrying("pipe") { clinux_pipe(&ends) }
    reader = Descriptor(owning: ends[0])
    writer = Descriptor(owning: ends[1])
  }

  /// Keeps the reading end and closes the other.
  public consuming func takeReader() -> Descriptor { reader }
  /// Keeps the writing end and closes the other.
  public consuming func takeWriter() -> Descriptor { writer }
}
