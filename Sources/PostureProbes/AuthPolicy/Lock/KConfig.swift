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
    var isFixed = false
    // A group is closed to later files only: in this one its keys are fixed one by one, each at its line.
    var groupLocks = false
    for (index, raw) in text.lines(keepsEmpty: true).enumerated() {
      let line = raw.trimmed
      if line.isEmpty || line.hasPrefix("#") { continue }
      if !line.hasPrefix("[") {
        if isOurs { take(line, isFixed, Place(path, line: index + 1)) }
      } else if let header = Header(line) {
        if header.isFixed, header.names.isEmpty { isClosed = true }
        isFixed = isClosed || header.isFixed
        isOurs = header.names == [group]
        groupLocks = groupLocks || isOurs && isFixed
      }
    }
    isGroupImmutable = groupLocks
  }

  /// Names, each in the one before; `[$i]` is none where it ends the line. What stands behind the last is dropped.
  private struct Header {
    private(set) var names: [String] = []
    private(set) var isFixed = false

    /// nil where a bracket stays open: the group before goes on.
    init?(_ line: String) {
      var rest = line[...]
      while rest.hasPrefix("[") {
        guard let end = rest.firstIndex(of: "]") else { return nil }
        let name = rest[..<end].dropFirst()
        rest = rest[end...].dropFirst()
        if name == "$i", rest.isEmpty { isFixed = true } else { names.append(KConfig.unescaped(String(name))) }
      }
    }
  }

  private mutating func take(_ line: String, _ isFixed: Bool, _ place: Place) {
    let equals = line.firstIndex(of: "=")
    guard let name = Name(line[..<(equals ?? line.endIndex)].trimmed), !immutable.contains(name.key) else { return }
    if name.isDeleted {
      values[name.key] = nil
    } else if let equals {
      values[name.key] = KConfigValue(
        text: Self.unescaped(line[line.index(after: equals)...].trimmed), place: place)
    } else {
      return
    }
    if isFixed || name.isFixed { immutable.insert(name.key) }
  }

  /// What stands before `=`: a key with its options. nil for a translation of a value, and for what is no key.
  private struct Name {
    let key: String
    private(set) var isFixed = false
    private(set) var isDeleted = false

    init?(_ written: String) {
      var rest = written[...]
      while !isDeleted, let start = rest.lastIndex(of: "[") {
        let option = rest[start...].dropFirst()
        guard let end = option.firstIndex(of: "]"), option.hasPrefix("$"), end > option.startIndex else { return nil }
        let letters = option[..<end].prefix { $0 != "d" }
        isFixed = isFixed || letters.contains("i")
        isDeleted = letters.endIndex < end
        rest = rest[..<start]
      }
      if rest.isEmpty { return nil }
      key = KConfig.unescaped(String(rest))
    }
  }

  /// `\s` is a blank, `\x41` a byte; what is no escape stays as it stands.
  private static func unescaped(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "\\")) else { return text }
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\"), let next = rest.popFirst() else {
        bytes.append(byte)
        continue
      }
      switch next {
      case UInt8(ascii: "s"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "t"): bytes.append(UInt8(ascii: "\t"))
      case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "r"): bytes.append(UInt8(ascii: "\r"))
      case UInt8(ascii: "\\"): bytes.append(next)
      case UInt8(ascii: "x"):
        bytes.append(UInt8(String(Substring(rest.prefix(2))), radix: 16) ?? next)
        rest = rest.dropFirst(2)
      default: bytes += [byte, next]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Everything but KConfigGroup's words for false.
  static func isTrue(_ text: String) -> Bool { !["false", "no", "off", "0"].contains(text.lowercased()) }
}
