/// Rows of fields separated by colons: passwd(5), shadow(5), group(5).
struct ColonTable: Sendable {
  struct Row: Sendable {
    var fields: [String]
    /// 1-based.
    var line: Int
  }

  let path: String
  let rows: [Row]

  /// Larger than any real one; a farm of a million rows is no account database.
  static let cap = 16 << 20

  /// `owner`: of a file that is not root's. An image may have been copied under other numbers.
  init(_ system: System, _ path: String, ownedBy owner: UInt32? = nil) throws(System.Unreadable) {
    let file: System.File
    if let owner, system.isLive {
      file = try system.read(path, ownedBy: owner, cap: Self.cap)
    } else {
      file = try system.read(path, cap: Self.cap)
    }
    // Text files hold no NUL; with one, libc would see less than is there.
    guard !file.bytes.contains(0) else { throw .notRegular }
    self.init(path, file.bytes)
  }

  init(_ path: String, _ bytes: [UInt8]) {
    self.path = path
    var rows: [Row] = []
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      let text = line.drop { $0 == 32 || $0 == 9 }
      guard let first = text.first, first != UInt8(ascii: "#") else { continue }
      let fields = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      rows.append(Row(fields: fields.map { String(decoding: $0, as: UTF8.self) }, line: number))
    }
    self.rows = rows
  }
}
