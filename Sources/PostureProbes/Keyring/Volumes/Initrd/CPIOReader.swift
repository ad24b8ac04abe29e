/// Reads cpio archives of the "new" format (cpio(5), newc) as they come, and keeps their names: what the kernel unpacks
/// into its first file system.
struct CPIOReader {
  enum Fault: Error, Hashable, Sendable {
    case damaged
    /// More entries than any image has.
    case tooMany
  }

  /// Every regular file and link, without a leading slash.
  private(set) var names: Set<String> = []
  /// The content of those that were wanted.
  private(set) var contents: [String: [UInt8]] = [:]

  private enum State {
    /// Behind an archive or before the first one: zeroes are passed over.
    case between
    case header
    case name(Entry)
    case padding(Int, then: Entry)
    case data(Int, Entry)
    case dataPadding(Int)
  }

  private struct Entry {
    var nameSize: Int
    var size: Int
    var isFile: Bool
    var name = ""
    var isWanted = false
  }

  private var state = State.between
  /// What has come of a header or a name.
  private var held: [UInt8] = []
  private let wants: @Sendable (String) -> Bool

  private static let headerSize = 110
  private static let mostNames = 400_000
  private static let longestName = 4096
  private static let largestContent = 64 << 10
  private static let mostContents = 64
  private static let trailer = "TRAILER!!!"

  /// Keeps the content of files whose name `wants` is true for.
  init(_ wants: @escaping @Sendable (String) -> Bool) { self.wants = wants }

  /// Not within an archive.
  var isBetween: Bool { if case .between = state { true } else { false } }

  /// How many of `bytes` it took: fewer than all where what follows is no archive.
  mutating func feed(_ bytes: ArraySlice<UInt8>) throws(Fault) -> Int {
    var rest = bytes
    while !rest.isEmpty {
      guard try step(&rest) else { break }
    }
    return bytes.count - rest.count
  }

  /// False where the next byte begins no archive.
  private mutating func step(_ rest: inout ArraySlice<UInt8>) throws(Fault) -> Bool {
    switch state {
    case .between:
      rest = rest.drop { $0 == 0 }
      guard let first = rest.first else { return true }
      guard first == UInt8(ascii: "0") else { return false }
      state = .header
      held = []
    case .header:
      guard hold(&rest, Self.headerSize) else { return true }
      state = .name(try Self.entry(held))
      held = []
    case .name(var entry):
      guard hold(&rest, entry.nameSize) else { return true }
      entry.name = Self.plainName(held)
      entry.isWanted =
        entry.isFile && entry.size <= Self.largestContent && contents.count < Self.mostContents && wants(entry.name)
      state = .padding(Self.padding(Self.headerSize + entry.nameSize), then: entry)
      held = []
    case .padding(let left, let entry):
      let skipped = min(left, rest.count)
      rest = rest.dropFirst(skipped)
      state = left > skipped ? .padding(left - skipped, then: entry) : try begin(entry)
    case .data(let left, let entry):
      let part = min(left, rest.count)
      if entry.isWanted { contents[entry.name, default: []] += rest.prefix(part) }
      rest = rest.dropFirst(part)
      state = left > part ? .data(left - part, entry) : .dataPadding(Self.padding(entry.size))
    case .dataPadding(let left):
      let skipped = min(left, rest.count)
      rest = rest.dropFirst(skipped)
      state = left > skipped ? .dataPadding(left - skipped) : .header
    }
    return true
  }

  /// Collects until `count` are there.
  private mutating func hold(_ rest: inout ArraySlice<UInt8>, _ count: Int) -> Bool {
    let part = min(count - held.count, rest.count)
    held += rest.prefix(part)
    rest = rest.dropFirst(part)
    return held.count == count
  }

  private mutating func begin(_ entry: Entry) throws(Fault) -> State {
    if entry.name == Self.trailer { return .between }
    if entry.isFile {
      guard names.count < Self.mostNames else { throw .tooMany }
      names.insert(entry.name)
      if entry.isWanted { contents[entry.name] = [] }
    }
    return entry.size > 0 ? .data(entry.size, entry) : .dataPadding(0)
  }

  /// Header and name, and each file's content, are filled up to a multiple of four.
  private static func padding(_ size: Int) -> Int { (4 - size % 4) % 4 }

  /// Magic, then thirteen numbers of eight hexadecimal digits: inode, mode, uid, gid, links, mtime, size, four device
  /// numbers, size of the name with its NUL, checksum.
  private static func entry(_ header: [UInt8]) throws(Fault) -> Entry {
    guard header.starts(with: "070701".utf8) || header.starts(with: "070702".utf8),
      let mode = number(header, 1), let size = number(header, 6), let nameSize = number(header, 11),
      (1...longestName).contains(nameSize)
    else { throw .damaged }
    // Regular file or symlink.
    let kind = mode & 0o170000
    return Entry(nameSize: nameSize, size: size, isFile: kind == 0o100000 || kind == 0o120000)
  }

  private static func number(_ header: [UInt8], _ index: Int) -> Int? {
    let digits = header[6 + 8 * index..<14 + 8 * index]
    return Int(String(decoding: digits, as: UTF8.self), radix: 16).flatMap { $0 < 0 ? nil : $0 }
  }

  private static func plainName(_ bytes: [UInt8]) -> String {
    let text = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    return String((text.hasPrefix("./") ? text.dropFirst(2) : text[...]).drop { $0 == "/" })
  }
}
