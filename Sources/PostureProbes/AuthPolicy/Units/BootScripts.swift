import Posture

/// Shell scripts that every boot runs. Their conditions are not judged: whatever stands in one may be run.
struct BootScripts: Sendable {
  /// As they are written, a shell's command line within one as one.
  let commands: [UnitCommand]

  /// More scripts than a system starts.
  private static let most = 256

  /// Those that systems run by themselves: the administrator's, and those that start services.
  init(_ system: System, _ startup: Startup) {
    self.init(Self.local(system, startup) + Self.services(system, startup), system)
  }

  /// Those that these commands run.
  init(_ system: System, calledBy commands: [UnitCommand]) {
    self.init(commands.compactMap { $0.words.prefix(2).first(where: Self.mayBeScript) }, system)
  }

  private init(_ paths: [String], _ system: System) {
    var seen = Set<String>()
    commands = paths.filter { seen.insert($0).inserted }.prefix(Self.most).flatMap { Self.commands(of: $0, system) }
  }

  /// By its place or its name: what packages bring is not read.
  private static func mayBeScript(_ program: String) -> Bool {
    let folders = ["/etc/", "/opt/", "/usr/local/", "/home/", "/root/", "/srv/"]
    return program.hasPrefix("/") && (program.ends(with: ".sh") || folders.contains { program.hasPrefix($0) })
  }

  // MARK: Where they are

  /// Those that are there for the administrator.
  private static func local(_ system: System, _ startup: Startup) -> [String] {
    var paths: [String] = []
    let isExecutable = { (path: String) in ((try? system.status(path))?.mode ?? 0) & 0o111 != 0 }
    // OpenWrt gives it to a shell. BusyBox knows none.
    if startup.kind == .procd { paths.append("/etc/rc.local") }
    if startup.usesUnits ? !startup.units.isMasked("rc-local.service") : [.sysvinit, .runit].contains(startup.kind) {
      paths += ["/etc/rc.local", "/etc/rc.d/rc.local"].filter(isExecutable)
    }
    if startup.startedScripts.contains("local") {
      let folder = "/etc/local.d"
      let names = ((try? system.list(folder)) ?? []).filter { $0.ends(with: ".start") }
      paths += names.map { "\(folder)/\($0)" }.filter(isExecutable)
    }
    // Tiny Core Linux.
    if startup.kind == .busybox { paths.append("/opt/bootlocal.sh") }
    return paths
  }

  private static func services(_ system: System, _ startup: Startup) -> [String] {
    guard !startup.usesUnits else { return [] }
    let scripts = ((try? system.list("/etc/init.d")) ?? []).filter { name in
      let service = InitScripts.service(name) ?? name
      return startup.startedScripts.contains(service) && !isReadElsewhere(service)
    }
    let folders = ["/etc/service", "/var/service", "/etc/runit/runsvdir/default", "/etc/runit/runsvdir/current"]
    let supervised = folders.flatMap { folder in
      ((try? system.list(folder)) ?? []).filter { !isReadElsewhere($0) && !system.exists("\(folder)/\($0)/down") }
        .map { Programs.target(of: "\(folder)/\($0)", system) + "/run" }
    }
    return scripts.map { Programs.target(of: "/etc/init.d/\($0)", system) } + supervised
  }

  /// Gettys and the servers of SSH, which are known by their names.
  private static func isReadElsewhere(_ service: String) -> Bool {
    ["getty", "ssh", "dropbear"].contains(where: service.contains)
  }

  // MARK: What they run

  private static func commands(of path: String, _ system: System) -> [UnitCommand] {
    guard let text = system.text(path), isForShell(text) else { return [] }
    let own = ShellScript(text, ["start"]).commands.map { command in
      let words = started(by: plain(command.words))
      // A shell in the midst of a script is given a script to read.
      let isBare = words.count == 1 && SimpleCommands.shells.contains(Programs.base(words[0]))
      return isBare && !command.isExec && !command.isLast ? [] : words
    }
    let all = own + [text.contains("openrc-run") ? declared(in: path, system) : []]
    return all.filter { !$0.isEmpty }.map { UnitCommand(words: $0, place: Place(path)) }
  }

  private static func isForShell(_ text: String) -> Bool {
    guard text.hasPrefix("#!") else { return !text.hasPrefix("\u{7F}ELF") }
    let words = (text.lines(most: 1).first ?? "").split { $0 == " " || $0 == "/" || $0 == "!" }.map(String.init)
    return words.contains { SimpleCommands.shells.contains($0) || $0 == "openrc-run" || $0 == "runscript" }
  }

  /// Without the label of a case or the head of a function before it; nothing for a question after a program.
  private static func plain(_ words: [String]) -> [String] {
    var rest = words[...]
    if rest.first == "case", let label = rest.firstIndex(where: { $0.ends(with: ")") }) { rest = rest[label...] }
    if rest.first?.ends(with: ")") == true { rest = rest.dropFirst().drop { $0 == "{" } }
    if rest.first == "command", rest.dropFirst().first?.lowercased() == "-v" { return [] }
    return Array(rest)
  }

  /// The program that start-stop-daemon(8) starts, or procd is told to.
  private static func started(by words: [String]) -> [String] {
    if words.starts(with: ["procd_set_param", "command"]) { return Array(words.dropFirst(2)) }
    guard Programs.base(words.first ?? "") == "start-stop-daemon" else { return words }
    let options = words.prefix { $0 != "--" }
    let isShort = { (word: String, letters: String) in
      word.hasPrefix("-") && !word.hasPrefix("--") && letters.contains { word.contains($0) }
    }
    if options.contains(where: { $0 == "--stop" || isShort($0, "K") }) { return [] }
    let named = options.lastIndex { word in
      word == "--exec" || word == "--startas" || (isShort(word, "xa") && (word.ends(with: "x") || word.ends(with: "a")))
    }
    guard let named, named + 1 < options.count else { return [] }
    return [options[named + 1]] + words.dropFirst(options.count + 1)
  }

  /// `command`, `command_args` and `command_user` of openrc-run(8).
  private static func declared(in path: String, _ system: System) -> [String] {
    let settings = VariableFile.settings(in: path, system)
    let words = { (name: String) in
      UnitWords.split(settings.last { $0.name.trimmed == name }?.words.joined(separator: " ") ?? "")
    }
    let command = words("command")
    guard !command.isEmpty else { return [] }
    let user = words("command_user").first.map { ["runuser", "-u", String($0.prefix { $0 != ":" }), "--"] } ?? []
    return user + command + words("command_args")
  }
}
