import PosturePlatform

/// Images of initial RAM disks, made here; only compression is left to its own tools.
enum InitrdBuilder {
  /// One archive in the "new" format, with its end mark.
  static func archive(_ files: [(name: String, text: String)]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (number, file) in files.enumerated() {
      bytes += entry(file.name, Array(file.text.utf8), inode: number + 1, mode: 0o100644)
    }
    bytes += entry("TRAILER!!!", [], inode: 0, mode: 0)
    return padded(bytes, to: 512)
  }

  static func archive(_ names: String...) -> [UInt8] { archive(names.map { ($0, "x") }) }

  static func entry(_ name: String, _ content: [UInt8], inode: Int, mode: Int) -> [UInt8] {
    let nameSize = name.utf8.count + 1
    let numbers = [inode, mode, 0, 0, 1, 0, content.count, 0, 0, 0, 0, nameSize, 0]
    let header = "070701" + numbers.map(digits).joined()
    return padded(Array(header.utf8) + Array(name.utf8) + [0], to: 4) + padded(content, to: 4)
  }

  static func padded(_ bytes: [UInt8], to size: Int) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: (size - bytes.count % size) % size)
  }

  private static func digits(_ number: Int) -> String {
    let text = String(number, radix: 16, uppercase: true)
    return String(repeating: "0", count: 8 - text.utf8.count) + text
  }

  /// The tools and what they are told, as kernels take it.
  static let packers: [(format: String, tool: String, arguments: [String])] = [
    ("gzip", "/usr/bin/gzip", ["-c"]), ("xz", "/usr/bin/xz", ["-c", "--check=crc32"]),
    ("zstd", "/usr/bin/zstd", ["-q", "-c"]), ("lz4", "/usr/bin/lz4", ["-q", "-l", "-c"]),
    ("bzip2", "/usr/bin/bzip2", ["-c"]), ("lzma", "/usr/bin/xz", ["-c", "--format=lzma"]),
  ]

  static func packed(_ bytes: [UInt8], with format: String) throws -> [UInt8] {
    let packer = packers.first { $0.format == format }!
    var command = Command(packer.tool, packer.arguments)
    command.input = bytes
    command.timeout = 60_000
    command.cap = 256 << 20
    return try command.run().out
  }

  /// A file in the form of a unified kernel (PE), with these sections.
  static func unified(_ sections: [(name: String, bytes: [UInt8])]) -> [UInt8] {
    func little(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    var start = [UInt8](repeating: 0, count: 64)
    start.replaceSubrange(0..<2, with: "MZ".utf8)
    start.replaceSubrange(60..<64, with: little(64, 4))
    let header = Array("PE\0\0".utf8) + little(0x8664, 2) + little(sections.count, 2) + little(0, 12) + little(0, 4)
    var table: [UInt8] = []
    var body: [UInt8] = []
    let first = 64 + 24 + 40 * sections.count
    for section in sections {
      let name = Array(section.name.utf8) + [UInt8](repeating: 0, count: 8 - section.name.utf8.count)
      table += name + little(section.bytes.count, 4) + little(0, 4) + little((section.bytes.count + 511) / 512 * 512, 4)
      table += little(first + body.count, 4) + little(0, 16)
      body += padded(section.bytes, to: 512)
    }
    return start + header + table + body
  }
}
