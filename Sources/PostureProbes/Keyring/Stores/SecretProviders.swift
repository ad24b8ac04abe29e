import Posture

/// Which programs could serve secrets here: those that are installed.
///
/// The files of one that is gone stay in people's homes; new secrets no longer go there. KeePassXC is none of them: it
/// serves only while it runs, and from files of its own.
struct SecretProviders {
  enum Name: String, CaseIterable {
    case gnomeKeyring = "gnome-keyring"
    case kwallet, oo7
  }

  private let installed: Set<Name>
  /// KeePassXC is what the bus starts for secrets.
  private let startsKeePassXC: Bool
  /// What answers for secrets and is none of those: its program, and the file that says so.
  private let other: (program: String, place: Place)?

  private static let service = "org.freedesktop.secrets"
  private static let programs: [Name: [String]] = [
    .gnomeKeyring: ["gnome-keyring-daemon"], .kwallet: ["kwalletd5", "kwalletd6", "kwalletd", "ksecretd"],
    .oo7: ["oo7-daemon"],
  ]
  /// It serves while it runs, and has a row of its own.
  private static let keePassXC = "keepassxc"
  private static let programFolders = [
    "/usr/bin", "/usr/libexec", "/usr/lib", "/usr/local/bin", "/run/current-system/sw/bin",
  ]
  private static let serviceFolders = [
    "/usr/share/dbus-1/services", "/usr/local/share/dbus-1/services", "/run/current-system/sw/share/dbus-1/services",
  ]

  init(_ system: System) {
    let files = Self.serviceFolders.flatMap { folder in
      ((try? system.list(folder)) ?? []).filter {
        $0.contains("secret") || $0.contains("kwallet") || $0.contains("oo7")
      }
      .map { "\(folder)/\($0)" }
    }
    let services = files.compactMap(system.text)
    other = files.lazy.compactMap { Self.other($0, system) }.first
    startsKeePassXC = services.contains { $0.contains(Self.keePassXC) }
    installed = Set(
      Name.allCases.filter { name in
        let programs = Self.programs[name] ?? []
        return services.contains { text in programs.contains(where: text.contains) }
          || Self.programFolders.contains { folder in programs.contains { system.exists("\(folder)/\($0)") } }
      })
  }

  private static func other(_ path: String, _ system: System) -> (program: String, place: Place)? {
    guard let text = system.text(path), let file = try? GLibKeyFile(text),
      file.entry("D-BUS Service", "Name")?.value == service
    else { return nil }
    let known = programs.values.joined() + [keePassXC]
    guard !known.contains(where: text.contains), let command = file.entry("D-BUS Service", "Exec") else { return nil }
    return (String(command.value.prefix { $0 != " " }), Place(path, line: command.line))
  }

  func has(_ name: Name) -> Bool { installed.contains(name) }

  /// New secrets may go to a program of which nothing is known.
  static func look(_ context: KeyringContext) -> ProbeResult {
    var result = ProbeResult()
    guard let (program, place) = context.providers.other, !context.people.isEmpty else { return result }
    let cause = Cause("notModelled", observed: "\(program) serves secrets", evidence: [place])
    result.gaps = [Gap(cause, checks: [.keyring, .deviceBinding])]
    return result
  }

  /// Whether this person's new secrets can go to collections of this kind. Where no provider shows at all, whoever made
  /// the files is taken to be somewhere else.
  func serves(_ name: Name, _ home: Home) -> Bool {
    if installed.contains(name) || (name == .gnomeKeyring && installed.contains(.oo7)) { return true }
    return installed.isEmpty && other == nil && !startsKeePassXC && KeePassXCDoors.settings(home) == nil
  }
}
