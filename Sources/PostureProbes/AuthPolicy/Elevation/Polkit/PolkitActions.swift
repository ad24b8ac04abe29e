import Glibc
import Posture

/// The actions that packages declare (polkit(8), "Declaring Actions"), with what each asks by default.
struct PolkitActions: Sendable {
  /// What an action asks of somebody.
  enum Demand: Hashable, Sendable {
    case yes
    /// The person's own proof.
    case own
    /// An administrator's proof.
    case administrator
    case no

    /// `auth_admin_keep`, or `polkit.Result.AUTH_ADMIN_KEEP`; nil for anything else.
    init?(_ text: String) {
      switch text.lowercased().split(separator: ".").last.map(String.init) ?? "" {
      case "yes": self = .yes
      case "auth_self", "auth_self_keep": self = .own
      case "auth_admin", "auth_admin_keep": self = .administrator
      case "no": self = .no
      default: return nil
      }
    }

    /// Smaller is easier.
    var rank: Int {
      switch self {
      case .yes: 0
      case .own: 1
      case .administrator: 2
      case .no: 3
      }
    }
  }

  /// From where somebody asks.
  enum Standing: Hashable, Sendable, CaseIterable {
    /// In the session in front of the device.
    case active
    /// In another local session.
    case inactive
    /// Anywhere else: over the network, or in no session.
    case any
  }

  struct Action: Sendable {
    var id: String
    /// What is not declared is `no`.
    var defaults: [Standing: Demand]
    var place: Place
  }

  private(set) var actions: [String: Action] = [:]

  private static let folders = [
    "/etc/polkit-1/actions", "/run/polkit-1/actions", "/usr/local/share/polkit-1/actions",
    "/usr/share/polkit-1/actions",
  ]

  static func areDeclared(on system: System) -> Bool { folders.contains { system.exists($0) } }

  init(_ system: System) {
    for folder in Self.folders {
      for name in (try? system.list(folder)) ?? [] where name.ends(with: ".policy") {
        let path = "\(folder)/\(name)"
        guard let file = try? system.read(path) else { continue }
        for action in PolkitPolicyFile.actions(of: file.bytes, path) where actions[action.id] == nil {
          actions[action.id] = action
        }
      }
    }
  }
}

/// The few elements of a .policy file (XML) that decide.
enum PolkitPolicyFile {
  static func actions(of bytes: [UInt8], _ path: String) -> [PolkitActions.Action] {
    var result: [PolkitActions.Action] = []
    var current: PolkitActions.Action?
    var element: String?
    var isInDefaults = false
    var reader = Tags(bytes: bytes)
    while let tag = reader.next() {
      switch tag.name {
      case "action":
        current = tag.attribute("id").map {
          PolkitActions.Action(id: $0, defaults: [:], place: Place(path, line: tag.line))
        }
      case "/action":
        if let current { result.append(current) }
        current = nil
      case "defaults": isInDefaults = true
      case "/defaults": isInDefaults = false
      default: element = tag.name
      }
      guard isInDefaults, let demand = PolkitActions.Demand(reader.textAfterTag.trimmed) else { continue }
      switch element {
      case "allow_any": current?.defaults[.any] = demand
      case "allow_inactive": current?.defaults[.inactive] = demand
      case "allow_active": current?.defaults[.active] = demand
      default: break
      }
    }
    return result
  }

  private struct Tag {
    var name: String
    var text: String
    var line: Int

    func attribute(_ name: String) -> String? {
      guard let range = text.range(ofText: name + "=") else { return nil }
      let rest = text[range.upperBound...]
      guard let quote = rest.first, quote == "\"" || quote == "'" else { return nil }
      return String(rest.dropFirst().prefix { $0 != quote })
    }
  }

  private struct Tags {
    private let bytes: [UInt8]
    private var at = 0
    private var line = 1

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// How the elements begin that decide; most of a file are words for people, in every language.
    private static let decisive = ["action", "/action", "defaults", "/defaults", "allow_"].map { Array($0.utf8) }

    mutating func next() -> Tag? {
      while let open = opening(from: at) {
        advance(to: open)
        if bytes[open...].starts(with: "<!--".utf8) {
          guard let end = end(of: "-->", from: open + 4) else { return nil }
          advance(to: end)
          continue
        }
        guard let close = bytes[open...].firstIndex(of: UInt8(ascii: ">")) else { return nil }
        guard Self.decisive.contains(where: { bytes[(open + 1)...].starts(with: $0) }) else {
          advance(to: close + 1)
          continue
        }
        let text = String(decoding: bytes[(open + 1)..<close], as: UTF8.self)
        let name = text.prefix { !" \t\r\n/".contains($0) || ($0 == "/" && text.first == "/") }
        let tag = Tag(name: String(name), text: text, line: line)
        advance(to: close + 1)
        return tag
      }
      return nil
    }

    /// Where the next comment or tag begins that may be a decisive one. Desktops have megabytes of the others.
    private func opening(from start: Int) -> Int? {
      bytes.withUnsafeBytes { buffer in
        guard let base = buffer.baseAddress else { return nil }
        var at = start
        while at < buffer.count, let found = memchr(base + at, Int32(UInt8(ascii: "<")), buffer.count - at) {
          let open = UnsafeRawPointer(found) - base
          guard open + 2 < buffer.count else { return nil }
          let isClosing = buffer[open + 1] == UInt8(ascii: "/")
          let name = buffer[(open + (isClosing ? 2 : 1))...]
          let mayDecide =
            switch name.first {
            case UInt8(ascii: "a"), UInt8(ascii: "!"): true
            // <defaults>, but not <description>.
            case UInt8(ascii: "d"): name.starts(with: "def".utf8)
            default: false
            }
          if mayDecide { return open }
          at = open + 1
        }
        return nil
      }
    }

    /// Up to the next tag.
    var textAfterTag: String {
      String(decoding: bytes[at...].prefix(64).prefix { $0 != UInt8(ascii: "<") }, as: UTF8.self)
    }

    private mutating func advance(to index: Int) {
      line += bytes[at..<index].count { $0 == 0x0A }
      at = index
    }

    private func end(of text: String, from start: Int) -> Int? {
      var index = start
      while let next = bytes[index...].firstIndex(of: UInt8(ascii: "-")) {
        if bytes[next...].starts(with: text.utf8) { return next + text.utf8.count }
        index = next + 1
      }
      return nil
    }
  }
}
