import Glibc
import PosturePlatform

/// What an image of an initial RAM disk holds, as far as it tells how volumes are unlocked.
struct InitrdContents: Hashable, Sendable {
  /// Every file and link, without a leading slash.
  var names: Set<String> = []
  /// Its crypttab, and files with words for the kernel's command line.
  var texts: [String: String] = [:]
}

/// Why an image could not be read.
enum InitrdFault: Error, Hashable, Sendable {
  case unreadable(System.Unreadable)
  /// Neither an archive nor packed in a way that is known.
  case noArchive
  case damaged
  /// The library for this compression is not installed here.
  case noLibrary(Unpacking.Format)
  case tooLarge
  case tooSlow

  /// For `observed`.
  var words: String {
    switch self {
    case .unreadable(let why): why.words
    case .noArchive: "is no archive"
    case .damaged: "is damaged"
    case .noLibrary(let format): "is packed with \(format.rawValue), which cannot be unpacked here"
    case .tooLarge: "is too large"
    case .tooSlow: "takes too long to unpack"
    }
  }
}

/// Reads an image as the kernel does: archives one behind the other, each as it is or compressed
/// (Documentation/driver-api/early-userspace/buffer-format.rst).
struct InitrdImage: ~Copyable {
  private let file: Descriptor
  /// Bytes of the image that were not read yet.
  private var left: Int
  private var input: [UInt8] = []
  private var at = 0
  private var plain = [UInt8](repeating: 0, count: 256 << 10)
  private var unpacked = 0
  private var archive = CPIOReader { name in
    ["etc/crypttab", "cryptroot/crypttab"].contains(name) || name.hasPrefix("etc/cmdline.d/")
  }
  private let began = Clock.processNanoseconds
  private let limits: Limits

  struct Limits: Sendable {
    /// Bytes of the image, and of what is in it.
    var packed = 512 << 20
    var unpacked = 2 << 30
    /// CPU time: xz on a small board takes some seconds.
    var nanoseconds: Int64 = 10_000_000_000
  }

  private static let chunk = 256 << 10

  /// - Parameter section: where in the file it lies, in bytes; nil for the whole file.
  static func read(
    _ system: System, _ path: String, section: Range<Int>? = nil, limits: Limits = Limits()
  ) throws(InitrdFault) -> InitrdContents {
    let size: Int
    let file: Descriptor
    do throws(System.Unreadable) {
      let status = try system.status(path)
      guard status.kind == .regular else { throw .notRegular }
      size = Int(status.size)
      file = try system.descriptor(path)
    } catch { throw .unreadable(error) }
    let start = section?.lowerBound ?? 0
    if lseek(file.number, off_t(start), SEEK_SET) < 0 { throw .damaged }
    let left = min(section?.count ?? .max, size - start)
    guard left <= limits.packed else { throw .tooLarge }
    var image = InitrdImage(file, left, limits)
    return try image.contents()
  }

  private init(_ file: consuming Descriptor, _ left: Int, _ limits: Limits) {
    self.file = file
    self.left = left
    self.limits = limits
  }

  private mutating func contents() throws(InitrdFault) -> InitrdContents {
    // U-Boot's header before an image.
    if try refill(4), input.starts(with: [0x27, 0x05, 0x19, 0x56]), try refill(64) { at = 64 }
    while try refill(6) || at < input.count {
      at += try feed(input[at...])
      if at == input.count { continue }
      guard try refill(6), let format = Unpacking.Format(input[at...]) else {
        // The kernel too passes over what stands behind the archives.
        if archive.names.isEmpty { throw .noArchive }
        break
      }
      try unpack(format)
    }
    guard archive.isBetween else { throw .damaged }
    guard !archive.names.isEmpty else { throw .noArchive }
    return InitrdContents(
      names: archive.names, texts: archive.contents.mapValues { String(decoding: $0, as: UTF8.self) })
  }

  /// Makes at least `count` bytes of input available; false where the image ends before.
  private mutating func refill(_ count: Int) throws(InitrdFault) -> Bool {
    while input.count - at < count {
      guard left > 0 else { return false }
      let more: [UInt8]
      do throws(SystemError) { more = try file.read(min(Self.chunk, left)) } catch {
        throw .unreadable(.other(error.errno))
      }
      if more.isEmpty {
        left = 0
        return false
      }
      left -= more.count
      input = at == input.count ? more : input[at...] + more
      at = 0
    }
    return true
  }

  private mutating func feed(_ bytes: ArraySlice<UInt8>) throws(InitrdFault) -> Int {
    do throws(CPIOReader.Fault) { return try archive.feed(bytes) } catch {
      switch error {
      case .damaged: throw archive.names.isEmpty ? .noArchive : .damaged
      case .tooMany: throw .tooLarge
      }
    }
  }

  /// One compressed part, with the archives in it.
  private mutating func unpack(_ format: Unpacking.Format) throws(InitrdFault) {
    var isOpen = true
    while isOpen {
      guard var stream = Unpacking(format) else { throw .noLibrary(format) }
      let isWhole = try drain(&stream)
      // Only lz4 has no mark of its end.
      guard isWhole || format == .lz4 else { throw .damaged }
      // An archive may go on in a further frame.
      isOpen = !archive.isBetween
      if isOpen {
        guard try refill(6), Unpacking.Format(input[at...]) == format else { throw .damaged }
      }
    }
  }

  /// False where the image ends before the stream does.
  private mutating func drain(_ stream: inout Unpacking) throws(InitrdFault) -> Bool {
    while true {
      _ = try refill(1)
      let step = stream.step(input[at...], into: &plain)
      at += step.taken
      unpacked += step.made
      guard unpacked <= limits.unpacked else { throw .tooLarge }
      guard Clock.processNanoseconds - began < limits.nanoseconds else { throw .tooSlow }
      // Nothing is packed twice.
      guard try feed(plain[..<step.made]) == step.made else { throw .damaged }
      switch step.status {
      case .end: return true
      case .damaged:
        guard archive.isBetween, !archive.names.isEmpty else { throw .damaged }
        // What stands behind the last archive.
        (left, at) = (0, input.count)
        return true
      case .more:
        guard step.taken == 0, step.made == 0 else { continue }
        guard at == input.count, left == 0 else { throw .damaged }
        return false
      }
    }
  }
}
