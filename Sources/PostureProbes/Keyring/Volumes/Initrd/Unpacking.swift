import CUnpack

/// A compressed stream that one of the system's libraries unpacks.
struct Unpacking: ~Copyable {
  enum Format: String, Hashable, Sendable, CaseIterable {
    case gzip, zstd, xz, lz4, bzip2, lzma
    /// Known by its first bytes alone.
    case lzop

    /// By the first bytes.
    init?(_ start: ArraySlice<UInt8>) {
      guard let found = Self.allCases.first(where: { start.starts(with: $0.magic) }) else { return nil }
      self = found
    }

    var magic: [UInt8] {
      switch self {
      case .gzip: [0x1F, 0x8B]
      case .zstd: [0x28, 0xB5, 0x2F, 0xFD]
      case .xz: [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]
      case .lz4: [0x02, 0x21, 0x4C, 0x18]
      case .bzip2: [0x42, 0x5A, 0x68]
      case .lzma: [0x5D, 0x00, 0x00]
      case .lzop: [0x89, 0x4C, 0x5A, 0x4F]
      }
    }

    fileprivate var number: cunpack_format? {
      switch self {
      case .gzip: CUNPACK_GZIP
      case .zstd: CUNPACK_ZSTD
      case .xz: CUNPACK_XZ
      case .lz4: CUNPACK_LZ4
      case .bzip2: CUNPACK_BZIP2
      case .lzma: CUNPACK_XZ
      case .lzop: nil
      }
    }
  }

  enum Status { case more, end, damaged }

  struct Step {
    var status: Status
    /// Bytes of the input that were taken, and bytes that came out.
    var taken: Int
    var made: Int
  }

  private let stream: OpaquePointer

  /// nil where its library is not installed, or none is known.
  init?(_ format: Format) {
    guard let number = format.number, let opened = cunpack_open(number) else { return nil }
    stream = opened
  }

  deinit { cunpack_close(stream) }

  mutating func step(_ input: ArraySlice<UInt8>, into output: inout [UInt8]) -> Step {
    var taken = 0
    var made = 0
    let status = input.withUnsafeBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        cunpack_step(stream, input.baseAddress, input.count, &taken, output.baseAddress, output.count, &made)
      }
    }
    return Step(
      status: status == CUNPACK_MORE ? .more : status == CUNPACK_END ? .end : .damaged, taken: taken, made: made)
  }
}
