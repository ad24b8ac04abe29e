import Posture

/// One row of crypttab(5).
struct CrypttabEntry: Hashable, Sendable {
  /// The mapping that it makes.
  var name: String
  var source: String
  /// A path, or nil where the row names none (missing, `-`, `none`).
  var keyFile: String?
  var options: [String]
  var place: Place

  /// The value of `name=value`.
  func option(_ name: String) -> String? {
    options.last { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
  }

  func has(_ flag: String) -> Bool { options.contains(flag) }

  /// A boolean option of systemd: the bare word, or a word for true.
  func isOn(_ name: String) -> Bool {
    has(name) || ["yes", "true", "on", "1", "y", "t"].contains(option(name)?.lowercased())
  }

  /// Made anew with a random key at each start: swap and scratch space.
  var isThrowAway: Bool {
    guard let keyFile, ["/dev/urandom", "/dev/random", "/dev/hwrng"].contains(keyFile) else { return false }
    return true
  }

  /// Opened in the initial RAM disk.
  var isInInitrd: Bool { has("initramfs") || has("x-initrd.attach") }
}

enum Crypttab {
  static let path = "/etc/crypttab"

  static func parse(_ text: String) -> [CrypttabEntry] {
    text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
      let fields = line.split { $0.isWhitespace }
      guard fields.count >= 2, !fields[0].hasPrefix("#") else { return nil }
      let key = fields.count > 2 ? String(fields[2]) : "none"
      return CrypttabEntry(
        name: String(fields[0]), source: String(fields[1]).filter { $0 != "\"" },
        keyFile: ["none", "-", ""].contains(key) ? nil : key,
        options: fields.count > 3 ? fields[3].split(separator: ",").map(String.init) : [],
        place: Place(path, line: index + 1))
    }
  }
}
