/// Text that the files do not tell: what a command prints, a variable that is set elsewhere.
enum UnknownText {
  /// Stands for it in a word: the last character for private use, which nobody writes.
  static let mark = "\u{10FFFD}"

  static func isIn(_ word: String) -> Bool { word.unicodeScalars.contains("\u{10FFFD}") }

  /// For people to read.
  static func shown(_ text: String) -> String { isIn(text) ? text.substituting(mark, with: "…") : text }

  /// Folders whose files are made while the system runs.
  static func isMadeWhileRunning(_ path: String) -> Bool {
    ["/run/", "/var/run/", "/tmp/", "/var/tmp/", "/proc/", "/sys/", "/dev/"].contains(where: path.hasPrefix)
  }
}
