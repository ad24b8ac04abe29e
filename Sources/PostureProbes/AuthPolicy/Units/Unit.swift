import Posture

/// A unit as systemd sees it: its fragment and all drop-ins that apply, in the order in which they do.
struct Unit: Sendable {
  let name: UnitName
  /// The fragment's path, nil where there are drop-ins only.
  let fragment: String?
  /// A link to /dev/null or an empty file: the unit cannot be started.
  let isMasked: Bool
  let settings: [UnitSetting]

  /// Every value of `key`; an empty assignment clears the earlier ones.
  func values(_ key: String, in section: String = "Service") -> [UnitSetting] {
    var result: [UnitSetting] = []
    for setting in settings where setting.key == key && setting.section == section {
      if setting.value.isEmpty { result = [] } else { result.append(setting) }
    }
    return result
  }

  /// The assignment of `key` that wins.
  func last(_ key: String, in section: String = "Service") -> UnitSetting? {
    settings.last { $0.key == key && $0.section == section }
  }

  /// Names that `keys` of [Unit] list: `Wants=`, `Requires=`.
  func names(_ keys: [String]) -> [String] {
    keys.flatMap { values($0, in: "Unit") }.flatMap { UnitWords.split($0.value) }.map(expand)
  }

  /// Replaces the specifiers that depend on the name (systemd.unit(5)).
  func expand(_ text: String) -> String { UnitSpecifiers(name).expand(text) }
}

/// One command of a service, as it would be run.
struct UnitCommand: Hashable, Sendable {
  /// The program first; specifiers and variables expanded.
  var words: [String]
  var place: Place
  /// The terminal's name stands where an instance's would, for a template without instance: "%i".
  var program: String { words.first ?? "" }
  var arguments: [String] { Array(words.dropFirst()) }
}
