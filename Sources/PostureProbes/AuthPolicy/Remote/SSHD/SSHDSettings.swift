import Posture

/// The values of sshd_config(5) that hold for one person on one connection.
struct SSHDSettings: Sendable {
  private var values: [String: [String]] = [:]
  fileprivate var places: [String: Place] = [:]
  /// Before 7.0, and in Red Hat's 7.4, root came in unless something said otherwise.
  var admitsRootByDefault = false
  /// Before 7.0 DSA keys were as good as others.
  var takesDSAByDefault = false
  /// A Match block could not be decided.
  var isUndecided = false

  init() {}

  /// Every further line adds to these; of all other keywords the first line counts.
  private static let lists: Set = ["allowusers", "denyusers", "allowgroups", "denygroups"]

  mutating func add(_ setting: SSHDConfiguration.Setting) {
    let key = setting.keyword
    guard !setting.values.isEmpty else { return }
    if Self.lists.contains(key) {
      values[key, default: []] += setting.values
    } else if values[key] == nil {
      values[key] = setting.values
    }
    if places[key] == nil { places[key] = setting.place }
  }

  /// What matching blocks say takes the place of what stands outside.
  mutating func override(with matched: SSHDSettings) {
    values.merge(matched.values) { $1 }
    places.merge(matched.places) { $1 }
    isUndecided = matched.isUndecided
  }

  /// The output of `sshd -T -C …`.
  init(printed text: String) {
    for line in text.lines() {
      let words = line.utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
      guard let key = words.first else { continue }
      if Self.lists.contains(key) {
        values[key, default: []] += words.dropFirst()
      } else if values[key] == nil, words.count > 1 {
        values[key] = Array(words.dropFirst())
      }
    }
  }

  func first(_ keyword: String) -> String? { values[keyword]?.first ?? Self.defaults[keyword] }
  func list(_ keyword: String) -> [String] { values[keyword] ?? [] }
  func place(_ keyword: String) -> Place? { places[keyword] }

  /// yes or no; the default where neither is said.
  func flag(_ keyword: String) -> Bool {
    switch first(keyword)?.lowercased() {
    case "yes", "true": true
    default: false
    }
  }

  /// A path or command; nil for `none`.
  func optional(_ keyword: String) -> String? {
    guard let value = values[keyword]?.joined(separator: " "), value.lowercased() != "none" else { return nil }
    return value
  }

  private static let defaults = [
    "passwordauthentication": "yes", "kbdinteractiveauthentication": "yes", "pubkeyauthentication": "yes",
    "permitemptypasswords": "no", "usepam": "no", "strictmodes": "yes",
    "gssapiauthentication": "no", "kerberosauthentication": "no", "hostbasedauthentication": "no", "usedns": "no",
    "ignorerhosts": "yes",
  ]

  enum Root { case yes, keysOnly, commandsOnly, no }

  var root: Root {
    switch values["permitrootlogin"]?.first?.lowercased() ?? (admitsRootByDefault ? "yes" : "") {
    case "yes": .yes
    case "no": .no
    case "forced-commands-only": .commandsOnly
    default: .keysOnly
    }
  }

  /// Lists of methods, any list of which will do; empty: any single method.
  var methods: [[String]] {
    let lists = list("authenticationmethods").map { list in
      // The one device that there is on Linux.
      list.split(separator: ",").map { $0 == "keyboard-interactive:pam" ? "keyboard-interactive" : String($0) }
    }
    return lists == [["any"]] ? [] : lists
  }

  /// Of public keys that may sign.
  var algorithms: SSHDAlgorithms {
    SSHDAlgorithms(first("pubkeyacceptedalgorithms"), defaultsHaveDSA: takesDSAByDefault)
  }

  var keyFiles: [String] {
    let files = list("authorizedkeysfile")
    if files.isEmpty { return [".ssh/authorized_keys", ".ssh/authorized_keys2"] }
    return files.map { $0.lowercased() } == ["none"] ? [] : files
  }
}

extension SSHDSettings {
  /// `sshd -T` prints values without places: ours are those of the same keywords.
  mutating func takePlaces(from other: SSHDSettings) { places = other.places }
}
