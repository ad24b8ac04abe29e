import Posture

struct KConfigValue: Hashable, Sendable {
  var text: String
  var place: Place
}

/// One group of KDE's cascading files (KConfig; Qt's QSettings writes files of the same form): later files win, except
/// over what `[$i]` makes immutable.
struct KConfig {
  let group: String
  private(set) var values: [String: KConfigValue] = [:]
  private var immutable = Set<String>()
  private var isGroupImmutable = false
  /// A file that is fixed as a whole is the last of its name.
  private var isClosed = false

  init(group: String) { self.group = group }

  /// XDG_CONFIG_DIRS as distributions set it, strongest first.
  private static let folders = [
    "/etc/xdg", "/usr/share/kde-settings/kde-profile/default/xdg", "/usr/share/kubuntu-default-settings/kf6-settings",
    "/usr/share/kubuntu-default-settings/kf5-settings", "/usr/etc/xdg",
  ]

  /// With what the machine's files of that name say; a person's own is read after that.
  init(group: String, of name: String, _ system: System) {
    self.init(group: group)
    begin(name, system)
  }

  /// Turns to files of another name, which are stronger, beginning with the machine's.
  mutating func begin(_ name: String, _ system: System) {
    isClosed = false
    for folder in Self.folders.reversed() {
      let path = "\(folder)/\(name)"
      if let text = system.text(path) { read(text, path: path) }
    }
  }

  /// The value of a key; nil where it is missing or empty.
  subscript(key: String) -> String? { values[key].flatMap { $0.text.isEmpty ? nil : $0.text } }

  mutating func read(_ text: String, path: String) {
    guard !isGroupImmutable, !isClosed else { return }
    var isOurs = false
    var groupLocks = false
    var fixed = Set<String>()
    for line in LogicalLines(text, comments: ["#"]) {
      if line.text.hasPrefix("[") {
        if line.text == "[$i]" {
          isClosed = true
          continue
        }
        isOurs = line.text == "[\(group)]" || line.text == "[\(group)][$i]"
        if isOurs, isClosed || line.text.ends(with: "[$i]") { groupLocks = true }
      } else if isOurs, let equals = line.text.firstIndex(of: "=") {
        let written = line.text[..<equals].trimmed
        let key = written.split(separator: "[").first.map { $0.trimmed } ?? written
        guard !immutable.contains(key) else { continue }
        if written.contains("$i") || written.contains("[$ei") { fixed.insert(key) }
        values[key] = KConfigValue(
          text: line.text[line.text.index(after: equals)...].trimmed, place: Place(path, line: line.number))
      }
    }
    immutable.formUnion(fixed)
    isGroupImmutable = groupLocks
  }

  /// Everything but KConfigGroup's words for false.
  static func isTrue(_ text: String) -> Bool { !["false", "no", "off", "0"].contains(text.lowercased()) }
}
