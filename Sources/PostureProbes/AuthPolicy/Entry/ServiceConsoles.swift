import Posture

/// Gettys that OpenRC and runit run as services.
struct ServiceConsoles {
  let system: System

  var lines: [ConsoleLine] { openrc + runit }

  // MARK: OpenRC: /etc/init.d/agetty.tty1, /etc/conf.d/agetty.tty1

  private var openrc: [ConsoleLine] {
    let levels = (try? system.list("/etc/runlevels")) ?? []
    let names = Set(levels.flatMap { (try? system.list("/etc/runlevels/\($0)")) ?? [] })
    return names.filter { $0.hasPrefix("agetty.") || $0.hasPrefix("getty.") }.sorted().map { name in
      let terminal = String(name.drop { $0 != "." }.dropFirst())
      let file = "/etc/conf.d/\(name)"
      let shared = "/etc/conf.d/\(name.prefix { $0 != "." })"
      let settings = [shared, file].map { variables($0) }
      let options = settings.compactMap { $0["agetty_options"] }.last ?? ""
      let own = settings.last?["agetty_options"] == nil ? shared : file
      return line(["/sbin/agetty"] + UnitWords.split(options) + [terminal], terminal, own, "agetty_options")
    }
  }

  // MARK: runit: /etc/sv/agetty-tty1/run, which reads conf

  private static let folders = [
    "/var/service", "/etc/service", "/etc/runit/runsvdir/default", "/etc/runit/runsvdir/current",
  ]

  private var runit: [ConsoleLine] {
    var seen = Set<String>()
    return Self.folders.flatMap { folder in
      ((try? system.list(folder)) ?? []).filter { $0.contains("getty-") && seen.insert($0).inserted }
        .filter { !system.exists("\(folder)/\($0)/down") }
        .map { name in
          let own = "\(folder)/\(name)"
          let service = system.exists("\(own)/run") || system.exists("\(own)/conf") ? own : "/etc/sv/\(name)"
          return run(service, terminal: name.split(separator: "-").last.map(String.init) ?? name)
        }
    }
  }

  private func run(_ service: String, terminal: String) -> ConsoleLine {
    let configuration = variables("\(service)/conf")
    let options = configuration["GETTY_ARGS"]
    let (file, key) = options == nil ? ("\(service)/run", "exec") : ("\(service)/conf", "GETTY_ARGS")
    // It runs in its own folder, whose name says which terminal it serves.
    let set = configuration.merging(["PWD": service]) { $1 }
    let files = TerminalReader(system: system).content
    let commands = ShellScript(system.text("\(service)/run") ?? "", [], variables: set, files: files).commands
    guard let words = (commands.last(where: \.isExec) ?? commands.last)?.words else {
      return line(["/sbin/agetty"] + UnitWords.split(options ?? "") + [terminal], terminal, file, key)
    }
    return line(words, ConsoleLine.terminal(in: words) ?? terminal, file, key)
  }

  private func line(_ words: [String], _ terminal: String, _ file: String, _ key: String) -> ConsoleLine {
    let number = system.text(file)?.lines(keepsEmpty: true)
      .firstIndex { $0.trimmed.hasPrefix(key) }.map { $0 + 1 }
    return ConsoleLine(
      terminal: terminal, reading: TerminalReader(system: system).read(words),
      observed: UnknownText.shown(([Programs.base(words[0])] + words.dropFirst()).joined(separator: " ")),
      place: Place(file, line: number))
  }

  /// `NAME=value` lines of a shell fragment.
  private func variables(_ path: String) -> [String: String] {
    var result: [String: String] = [:]
    for setting in VariableFile.settings(in: path, system) {
      let name = setting.name.trimmed
      result[name.hasPrefix("export ") ? String(name.dropFirst(7)) : name] = setting.words.joined(separator: " ")
    }
    return result
  }
}
