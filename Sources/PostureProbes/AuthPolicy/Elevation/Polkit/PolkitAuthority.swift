import Posture

/// The local authority of polkit before 0.106: .pkla files, and who is an administrator. Later ones ask it by a rule.
struct PolkitAuthority: Sendable {
  struct Entry: Sendable {
    var identities: [String]
    var actions: [ShellPattern]
    var demands: [PolkitActions.Standing: PolkitActions.Demand]
    var place: Place
    var isVendor: Bool
  }

  /// What is asked (nil: cannot be told), and by which entry.
  typealias Answer = (demand: PolkitActions.Demand?, place: Place)
  /// Never nil; as rules name them.
  typealias Administrators = (identities: [String]?, place: Place?)

  private(set) var entries: [Entry] = []
  /// nil: not said.
  private(set) var administrators: Administrators?
  /// It decides by itself: there are no rules in JavaScript.
  let isAlone: Bool

  init(_ system: System, _ rules: PolkitRules) {
    isAlone =
      Self.isKnownAlone(on: system) || !PackageDatabase.of(system).knows(.polkit) && !Self.hasRules(system)
    guard isAlone || rules.rules.contains(where: \.asksAuthority) else { return }
    readAdministrators(system)
    // Directories in their order; within one, /etc comes after /var.
    for stage in ["10-vendor.d", "20-org.d", "30-site.d", "50-local.d", "90-mandatory.d"] {
      for top in ["/var/lib/polkit-1/localauthority", "/etc/polkit-1/localauthority"] {
        let folder = "\(top)/\(stage)"
        for name in (try? system.list(folder)) ?? [] where name.ends(with: ".pkla") {
          read("\(folder)/\(name)", isVendor: stage == "10-vendor.d", system)
        }
      }
    }
  }

  /// Whether this polkit is too old for rules in JavaScript, whatever other packages bring along for newer ones.
  static func isKnownAlone(on system: System) -> Bool {
    let packages = PackageDatabase.of(system)
    // 0.120 was followed by 121: what has no dot is later.
    if packages.knows(.polkit) { return packages.version(of: .polkit).map { $0 < PAM.Version(0, 106) } ?? false }
    return system.exists("/usr/lib/policykit-1/polkitd")
  }

  private static func hasRules(_ system: System) -> Bool {
    PolkitRules.folders.contains { !(((try? system.list($0)) ?? []).isEmpty) }
  }

  private mutating func readAdministrators(_ system: System) {
    let folder = "/etc/polkit-1/localauthority.conf.d"
    for name in (try? system.list(folder)) ?? [] where name.ends(with: ".conf") {
      for line in LogicalLines(system.text("\(folder)/\(name)") ?? "") {
        guard let value = Self.value(line.text, "AdminIdentities") else { continue }
        administrators = (Self.list(value), Place("\(folder)/\(name)", line: line.number))
      }
    }
  }

  private mutating func read(_ path: String, isVendor: Bool, _ system: System) {
    var entry: Entry?
    for line in LogicalLines(system.text(path) ?? "") {
      if line.text.hasPrefix("[") {
        if let entry { entries.append(entry) }
        entry = Entry(
          identities: [], actions: [], demands: [:], place: Place(path, line: line.number), isVendor: isVendor)
      }
      if let value = Self.value(line.text, "Identity") { entry?.identities = Self.list(value) }
      if let value = Self.value(line.text, "Action") { entry?.actions = Self.list(value).map { ShellPattern($0) } }
      for (key, standing) in [
        ("ResultActive", PolkitActions.Standing.active), ("ResultInactive", .inactive), ("ResultAny", .any),
      ] {
        if let value = Self.value(line.text, key) { entry?.demands[standing] = PolkitActions.Demand(value) }
      }
    }
    if let entry { entries.append(entry) }
  }

  private static func value(_ line: String, _ key: String) -> String? {
    guard let equals = line.firstIndex(of: "="), line[..<equals].trimmed == key else { return nil }
    return line[line.index(after: equals)...].trimmed
  }

  private static func list(_ value: String) -> [String] {
    value.split(separator: ";").map(\.trimmed).filter { !$0.isEmpty }
  }

  /// The last entry that matches the action and one of the identities; `matches` answers nil where that cannot be told.
  func demand(
    _ action: String, _ standing: PolkitActions.Standing, vendorOnly: Bool, matches: (String) -> Bool?
  ) -> Answer? {
    for entry in entries.reversed() where !(vendorOnly && !entry.isVendor) {
      guard let demand = entry.demands[standing], entry.actions.contains(where: { $0.matches(action) }) else {
        continue
      }
      let answers = entry.identities.map(matches)
      if answers.contains(true) { return (demand, entry.place) }
      if answers.contains(nil) { return (nil, entry.place) }
    }
    return nil
  }
}
