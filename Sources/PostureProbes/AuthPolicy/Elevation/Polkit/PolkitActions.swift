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

    /// `auth_admin_keep`; nil for anything else, capital letters too.
    init?(_ text: String) {
      switch text {
      case "yes": self = .yes
      case "auth_self", "auth_self_keep": self = .own
      case "auth_admin", "auth_admin_keep": self = .administrator
      case "no": self = .no
      default: return nil
      }
    }

    /// As files write it.
    var word: String {
      switch self {
      case .yes: "yes"
      case .own: "auth_self"
      case .administrator: "auth_admin"
      case .no: "no"
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
    /// Actions that whoever may do this one may do as well.
    var implied: [String] = []
  }

  private(set) var actions: [String: Action] = [:]
  /// The actions that imply one.
  private(set) var implying: [String: [String]] = [:]

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
    for action in actions.values.sorted(by: { $0.id < $1.id }) {
      for id in action.implied { implying[id, default: []].append(action.id) }
    }
  }
}

/// The few elements of a .policy file (XML) that decide.
enum PolkitPolicyFile {
  static func actions(of bytes: [UInt8], _ path: String) -> [PolkitActions.Action] {
    var result: [PolkitActions.Action] = []
    var current: PolkitActions.Action?
    var standing: PolkitActions.Standing?
    var isInDefaults = false
    var reader = Tags(bytes: bytes)
    while let tag = reader.next() {
      switch tag.element {
      case .action:
        current = tag.attribute("id").map { id in
          PolkitActions.Action(id: id, defaults: [:], place: Place(path, line: tag.line))
        }
      case .actionEnd:
        if let current { result.append(current) }
        current = nil
      case .defaults: isInDefaults = true
      case .defaultsEnd: isInDefaults = false
      case .allow(let which): standing = which
      case .annotation where tag.attribute("key") == "org.freedesktop.policykit.imply":
        current?.implied += reader.textAfterTag.words().map(String.init)
      case .annotation: continue
      }
      guard isInDefaults, let standing, let demand = PolkitActions.Demand(reader.textAfterTag.trimmed) else { continue }
      current?.defaults[standing] = demand
    }
    return result
  }

  private enum Element {
    case action, actionEnd, defaults, defaultsEnd
    /// nil: of another standing than the three.
    case allow(PolkitActions.Standing?)
    case annotation

    init?(_ name: some Collection<UInt8>) {
      switch String(decoding: name, as: UTF8.self) {
      case "action": self = .action
      case "/action": self = .actionEnd
      case "defaults": self = .defaults
      case "/defaults": self = .defaultsEnd
      case "allow_any": self = .allow(.any)
      case "allow_inactive": self = .allow(.inactive)
      case "allow_active": self = .allow(.active)
      case "annotate": self = .annotation
      case let other where other.hasPrefix("allow_"): self = .allow(nil)
      default: return nil
      }
    }
  }

  private struct Tag {
    var element: Element
    var text: ArraySlice<UInt8>
    var line: Int

    func attribute(_ name: String) -> String? {
      let name = Array("\(name)=".utf8)
      guard let start = text.indices.first(where: { text[$0...].starts(with: name) }),
        let quote = text[(start + name.count)...].first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
      else { return nil }
      return String(decoding: text[(start + name.count + 1)...].prefix { $0 != quote }, as: UTF8.self)
    }
  }

  private struct Tags {
    private let bytes: [UInt8]
    private var at = 0
    private var line = 1

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func next() -> Tag? {
      while let open = opening(from: at) {
        advance(to: open)
        if bytes[open...].starts(with: "<!--".utf8) {
          guard let end = end(of: "-->", from: open + 4) else { return nil }
          advance(to: end)
          continue
        }
        guard let close = bytes[open...].firstIndex(of: UInt8(ascii: ">")) else { return nil }
        let text = bytes[(open + 1)..<close]
        let line = line
        advance(to: close + 1)
        if let element = Element(name(of: text)) { return Tag(element: element, text: text, line: line) }
      }
      return nil
    }

    /// With the slash of one that closes, without that of an empty one.
    private func name(of text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
      let first = text.startIndex
      return text[..<(text.indices.first { $0 > first && Self.ends.contains(text[$0]) } ?? text.endIndex)]
    }

    private static let ends = Array(" \t\r\n/".utf8)

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
      String(decoding: bytes[at...].prefix(4096).prefix { $0 != UInt8(ascii: "<") }, as: UTF8.self)
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
