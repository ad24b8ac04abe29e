/// Configuration files of systemd's own programs (systemd-system.conf(5), logind.conf(5)): the main file, then its drop-ins
/// by name.
enum SystemdConfiguration {
  /// Every assignment of `NAME.conf`, weakest first.
  static func settings(_ name: String, _ system: System) -> [UnitSetting] {
    paths(name, system).flatMap { UnitFile.parse(system.text($0) ?? "", path: $0) }
  }

  private static func paths(_ name: String, _ system: System) -> [String] {
    let main = ["/etc", "/run", "/usr/local/lib", "/usr/lib"].map { "\($0)/systemd/\(name)" }.first(
      where: system.exists)
    var byName: [String: String] = [:]
    for folder in ["/usr/lib", "/usr/local/lib", "/run", "/etc"].map({ "\($0)/systemd/\(name).d" }) {
      for file in ((try? system.list(folder)) ?? []).filter(UnitFile.isDropIn) { byName[file] = "\(folder)/\(file)" }
    }
    return [main].compactMap { $0 } + byName.sorted { $0.key < $1.key }.map(\.value)
  }
}
