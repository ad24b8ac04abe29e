/// Truth as systemd's files and words spell it (systemd.syntax(7)), in letters of any size.
enum SystemdBoolean {
  /// nil for anything else.
  static func parse(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "1", "yes", "y", "true", "t", "on": true
    case "0", "no", "n", "false", "f", "off": false
    default: nil
    }
  }
}
