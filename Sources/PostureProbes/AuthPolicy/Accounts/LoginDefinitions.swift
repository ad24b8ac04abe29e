/// The values of login.defs(5) that tell people from services.
struct LoginDefinitions: Sendable {
  private(set) var uidMin: UInt32 = 1000
  private(set) var uidMax: UInt32 = 60000
  private(set) var systemMin: UInt32 = 100
  private var systemMaxSet: UInt32?
  /// Other values, by name.
  private var others: [String: String] = [:]

  init() {}

  init(_ system: System) {
    let files = ["/etc/login.defs", "/usr/etc/login.defs", "/usr/share/login.defs"]
    let base = files.first(where: system.exists)
    for path in [base].compactMap({ $0 }) + Self.parts(system) { read(system.text(path) ?? "") }
  }

  private static func parts(_ system: System) -> [String] {
    ["/usr/etc/login.defs.d", "/etc/login.defs.d"].flatMap { folder in
      ((try? system.list(folder)) ?? []).filter { $0.ends(with: ".defs") }.map { "\(folder)/\($0)" }
    }
  }

  private mutating func read(_ text: String) {
    for line in text.lines() {
      let words = line.utf8.trimmed.prefix { $0 != UInt8(ascii: "#") }
        .split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "=") }.map { Substring($0) }
      guard words.count >= 2 else { continue }
      let value = words[1].filter { $0 != "\"" }
      others[String(words[0])] = value
      guard let number = UInt32(value) else { continue }
      switch words[0] {
      case "UID_MIN": uidMin = number
      case "UID_MAX": uidMax = number
      case "SYS_UID_MIN": systemMin = number
      case "SYS_UID_MAX": systemMaxSet = number
      default: break
      }
    }
  }

  subscript(name: String) -> String? { others[name] }

  /// A person's uid.
  func isRegular(_ uid: UInt32) -> Bool { uid >= uidMin && uid <= uidMax }

  /// As pam_usertype sees it.
  func isSystem(_ uid: UInt32) -> Bool {
    if uid <= 99 || uid == 65534 { return true }
    return uid >= systemMin && uid <= systemMaxSet ?? (uidMin &- 1)
  }
}
