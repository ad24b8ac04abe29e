import Posture

/// The kernel command line that this system boots with, as far as its files tell.
struct BootWords: Sendable {
  let words: [String]
  let place: Place?

  private static let files = [
    "/proc/cmdline", "/boot/firmware/cmdline.txt", "/boot/cmdline.txt", "/etc/kernel/cmdline",
    "/usr/lib/kernel/cmdline",
  ]

  init(_ system: System) {
    for file in Self.files {
      guard let text = system.text(file), !text.trimmed.isEmpty else { continue }
      words = text.split { $0 == " " || $0 == "\n" || $0 == "\t" }.map(String.init)
      place = Place(file, line: 1)
      return
    }
    words = []
    place = nil
  }

  /// The value of the last word `name=value`; "" for the bare name; "-" and "_" are the same.
  func value(_ name: String) -> String? {
    for word in words.reversed() {
      let key = word.prefix { $0 != "=" }
      if String(key).substituting("-", with: "_") == name { return String(word.dropFirst(key.count + 1)) }
    }
    return nil
  }

  /// `systemd.set_credential=NAME:VALUE`
  func credential(_ name: String) -> String? {
    words.compactMap { word -> String? in
      guard word.hasPrefix("systemd.set_credential=\(name):") else { return nil }
      return word.split(separator: ":", maxSplits: 1).last.map(String.init)
    }.last
  }
}

/// Looks for a text in a program's bytes.
enum ByteSearch {
  static func contains(_ bytes: [UInt8], _ text: String) -> Bool {
    let needle = Array(text.utf8)
    guard let first = needle.first, bytes.count >= needle.count else { return false }
    var start = 0
    while let found = bytes[start...].firstIndex(of: first), found + needle.count <= bytes.count {
      if bytes[found..<(found + needle.count)].elementsEqual(needle) { return true }
      start = found + 1
    }
    return false
  }
}
