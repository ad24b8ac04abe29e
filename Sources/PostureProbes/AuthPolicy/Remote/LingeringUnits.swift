import Posture

/// Units of people whose own systemd every boot starts (loginctl(1), `enable-linger`).
struct LingeringUnits {
  private let context: AuthContext

  init(_ context: AuthContext) { self.context = context }

  private static let folder = "/var/lib/systemd/linger"
  private static let shared = ["/etc/systemd/user", "/usr/lib/systemd/user"]

  var commands: [UnitCommand] {
    ((try? context.system.list(Self.folder)) ?? []).compactMap { context.accounts[$0] }.flatMap(commands)
  }

  private func commands(of person: Account) -> [UnitCommand] {
    let home = Home(context.system, person)
    let folders = [home.path(".config/systemd/user")] + Self.shared
    let names = Set(folders.flatMap { (try? context.system.list("\($0)/default.target.wants")) ?? [] })
    return names.sorted().flatMap { name -> [UnitCommand] in
      guard let unit = UnitName(name) else { return [] }
      let file = folders.lazy.map { "\($0)/\(name)" }.compactMap { path in
        (try? context.system.read(path, ownedBy: person.uid, 0)).map { UnitFile.parse($0.text, path: path) }
      }.first
      return Unit(name: unit, fragment: nil, isMasked: false, settings: file ?? []).commands().flatMap { command in
        SimpleCommands.of(command.words).map { UnitCommand(words: $0, place: command.place) }
      }
    }
  }
}
