import Posture

/// `name = value` lines of the files below /etc/security.
struct ConfigurationLines: Sequence {
  struct Entry {
    var name: String
    /// Empty for a flag.
    var value: String
    var place: Place
  }

  private let entries: [Entry]

  init(_ system: System, _ path: String) {
    let lines = (system.text(path) ?? "").lines(keepsEmpty: true)
    entries = lines.enumerated().compactMap { index, line in
      let parts = line.prefix { $0 != "#" }.split(maxSplits: 1) { $0 == "=" || $0.isWhitespace }
      guard let name = parts.first?.trimmed, !name.isEmpty else { return nil }
      let value = parts.count > 1 ? parts[1].drop { $0 == "=" || $0.isWhitespace }.trimmed : ""
      return Entry(name: name, value: value, place: Place(path, line: index + 1))
    }
  }

  func makeIterator() -> IndexingIterator<[Entry]> { entries.makeIterator() }
}

/// What a new password is measured by: the module's defaults, its files, its arguments, each stronger than the last.
struct QualitySettings {
  enum Kind {
    case pwquality, cracklib, passwdqc

    init(module: String) {
      switch module {
      case "pam_cracklib.so": self = .cracklib
      case "pam_passwdqc.so": self = .passwdqc
      default: self = .pwquality
      }
    }
  }

  private let kind: Kind
  private var numbers: [String: Int]
  private var isForRoot: Bool
  private var places: [String: Place] = [:]
  /// Names in the order of printing.
  private static let names = [
    "minlen", "difok", "minclass", "dcredit", "ucredit", "lcredit", "ocredit", "maxrepeat", "maxsequence",
    "maxclassrepeat", "retry",
  ]
  /// PWQ_BASE_MIN_LENGTH, which no setting goes below.
  private static let shortest = 6

  init(_ kind: Kind) {
    self.kind = kind
    isForRoot = kind == .passwdqc
    switch kind {
    case .pwquality:
      numbers = ["minlen": 8, "difok": 1, "retry": 1, "dictcheck": 1, "enforcing": 1]
    case .cracklib:
      numbers = [
        "minlen": 9, "difok": 5, "retry": 1, "dictcheck": 1, "dcredit": 1, "ucredit": 1, "lcredit": 1, "ocredit": 1,
      ]
    case .passwdqc: numbers = ["minlen": 7, "retry": 3, "dictcheck": 1]
    }
  }

  /// False where failures are only warned of.
  var isEnforcing: Bool { numbers["enforcing"] != 0 }

  /// Where the values that win were set.
  var because: [Reason] {
    places.sorted { $0.key < $1.key }.map { Reason("value.\($0.key)", $0.value) }
  }

  var values: [(String, JSON)] {
    let counts = Self.names.map { name in (name, JSON.integer(Int64(numbers[name] ?? 0))) }
    return counts + [("dictcheck", .bool(numbers["dictcheck"] != 0)), ("enforceForRoot", .bool(isForRoot))]
  }

  /// The files of the module, then the arguments of its line.
  mutating func read(_ system: System, _ line: PAM.Line) {
    if kind == .pwquality { readFiles(system) }
    for argument in line.arguments {
      let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
      set(parts.first ?? "", parts.count > 1 ? parts[1] : "", line.place, system)
    }
  }

  private mutating func readFiles(_ system: System) {
    let main = ["/etc/security/pwquality.conf", "/usr/etc/security/pwquality.conf"]
    if let path = main.first(where: system.exists) { read(system, path) }
    let folder = "/etc/security/pwquality.conf.d"
    for name in (try? system.list(folder)) ?? [] where name.ends(with: ".conf") { read(system, "\(folder)/\(name)") }
  }

  /// A file that names another is passed over: it might name itself.
  private mutating func read(_ system: System, _ path: String) {
    for entry in ConfigurationLines(system, path) where entry.name != "config" {
      set(entry.name, entry.value, entry.place, system)
    }
  }

  private mutating func set(_ name: String, _ value: String, _ place: Place, _ system: System) {
    switch name {
    case "enforce_for_root": isForRoot = true
    case "enforce" where kind == .passwdqc:
      isForRoot = value == "everyone"
      numbers["enforcing"] = value == "none" ? 0 : 1
    // Read where it stands; without it pam_passwdqc reads no file.
    case "config" where kind == .passwdqc: read(system, value)
    case "min" where kind == .passwdqc:
      guard let shortest = value.split(separator: ",").compactMap({ Int($0) }).min() else { return }
      numbers["minlen"] = shortest
      places["minlen"] = place
    default:
      guard Self.names.contains(name) || name == "dictcheck" || name == "enforcing", let number = Int(value) else {
        return
      }
      numbers[name] = name == "minlen" && kind != .passwdqc ? max(number, Self.shortest) : number
      places[name] = place
    }
  }
}
