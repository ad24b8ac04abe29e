public import Glibc

/// Owns one file descriptor and closes it at the end of its life.
public struct Descriptor: ~Copyable, Sendable {
  public let number: Int32

  /// O_PATH: a place in the file system that is not opened for reading. Glibc shows it under _GNU_SOURCE only.
  public static let pathOnly: Int32 = 0o10000000

  /// Takes over `number`.
  public init(owning number: Int32) { self.number = number }

  deinit { close(number) }

  /// Gives the number away; the caller closes it.
  public consuming func release() -> Int32 {
    let number = number
    discard self
    return number
  }

  /// open(2) with O_CLOEXEC.
  public static func open(
    _ path: String, _ flags: Int32, mode: mode_t = 0
  ) throws(SystemError) -> Descriptor {
    Descriptor(owning: try retrying("open", path) { Glibc.open(path, flags | O_CLOEXEC, mode) })
  }

  public func status(_ path: String? = nil) throws(SystemError) -> stat {
    var result = stat()
    try retrying("fstat", path) { fstat(number, &result) }
    return result
  }

  /// Reads to the end, at most `cap` bytes; nil where there is more.
  /// - Parameter size: how many bytes a file has by its own word, which saves reading in pieces; 0 where that is none.
  public func readAll(cap: Int, size: Int = 0, _ path: String? = nil) throws(SystemError) -> [UInt8]? {
    var bytes: [UInt8] = []
    while true {
      let isFirst = bytes.isEmpty && size > 0
      // One byte more than allowed tells "too large" from "just fits", one more than its size that it has not grown.
      let want = min(isFirst ? size + 1 : 65_536, cap + 1 - bytes.count)
      let chunk = try read(want, path)
      if chunk.isEmpty { return bytes }
      if isFirst, chunk.count < want { return chunk }
      if bytes.isEmpty { bytes = chunk } else { bytes += chunk }
      if bytes.count > cap { return nil }
    }
  }

  /// At most `count` bytes; none at the end of the file.
  public func read(_ count: Int, _ path: String? = nil) throws(SystemError) -> [UInt8] {
    try Self.read(number, count, path)
  }

  /// The same for a descriptor that somebody else owns.
  static func read(_ number: Int32, _ count: Int, _ path: String? = nil) throws(SystemError) -> [UInt8] {
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(SystemError) {
        filled = try retrying("read", path) { Glibc.read(number, buffer.baseAddress, count) }
      } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }

  public func writeAll(_ bytes: [UInt8], _ path: String? = nil) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      done += try retrying("write", path) {
        bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress! + done, bytes.count - done) }
      }
    }
  }
}
