/// Which programs could serve secrets here: those that are installed.
///
/// The files of one that is gone stay in people's homes; new secrets no longer go there. KeePassXC is none of them: it
/// serves only while it runs.
struct SecretProviders {
  enum Name: String, CaseIterable {
    case gnomeKeyring = "gnome-keyring"
    case kwallet, oo7
  }

  private let installed: Set<Name>

  private static let programs: [Name: [String]] = [
    .gnomeKeyring: ["gnome-keyring-daemon"], .kwallet: ["kwalletd5", "kwalletd6", "kwalletd", "ksecretd"],
    .oo7: ["oo7-daemon"],
  ]
  private static let programFolders = [
    "/usr/bin", "/usr/libexec", "/usr/lib", "/usr/local/bin", "/run/current-system/sw/bin",
  ]
  private static let serviceFolders = [
    "/usr/share/dbus-1/services", "/usr/local/share/dbus-1/services", "/run/current-system/sw/share/dbus-1/services",
  ]

  init(_ system: System) {
    let services = Self.serviceFolders.flatMap { folder in
      ((try? system.list(folder)) ?? []).filter {
        $0.contains("secret") || $0.contains("kwallet") || $0.contains("oo7")
      }
      .compactMap { system.text("\(folder)/\($0)") }
    }
    installed = Set(
      Name.allCases.filter { name in
        let programs = Self.programs[name] ?? []
        return services.contains { text in programs.contains(where: text.contains) }
          || Self.programFolders.contains { folder in programs.contains { system.exists("\(folder)/\($0)") } }
      })
  }

  func has(_ name: Name) -> Bool { installed.contains(name) }

  /// Whether new secrets can go to collections of this kind. Where no provider shows at all, whoever made the files is
  /// taken to be somewhere else.
  func serves(_ name: Name) -> Bool {
    installed.isEmpty || installed.contains(name) || (name == .gnomeKeyring && installed.contains(.oo7))
  }
}
