import Posture

/// sshd of the examined system: its values by sshd's own word where it can be asked, else by our reading.
struct SSHDServer: Sendable {
  /// Whether the system starts it by itself.
  let isStarted: Bool
  /// What holds for everybody; nil where sshd has to be asked about each.
  private let everybody: SSHDQuestion?
  private let configuration: SSHDConfiguration
  private let arguments: [String]
  private let canBeAsked: Bool
  /// A socket unit or the command line names ports of its own.
  private let hasOtherPorts: Bool
  private let system: System
  private let distribution: Distribution

  /// Whether it is sure that a boot comes to the command.
  let isCertain: Bool

  /// The question to an sshd that is told nothing, as on most systems; nil where it has to be asked about each person.
  static func usualQuestion(_ system: System) -> SSHDQuestion? { Call(CommandLine(), system).question(nil) }

  /// Asks it, before it is known what this system tells its sshd.
  static func askUsual(_ system: System) -> SSHDQuestion? {
    guard canBeAsked(system, program(system)), let question = usualQuestion(system) else { return nil }
    question.ask()
    return question
  }

  /// One for each command that starts it; where none does, the one that its own unit or script would start.
  /// - Parameter usual: what was asked already, and is withdrawn where it is not the question.
  static func all(
    _ system: System, _ distribution: Distribution, _ startup: Startup, _ usual: SSHDQuestion? = nil
  ) -> [SSHDServer] {
    let servers = servers(system, distribution, startup, usual)
    if let usual, !servers.contains(where: { $0.needs(usual) }) { usual.withdraw() }
    return servers
  }

  private static func servers(
    _ system: System, _ distribution: Distribution, _ startup: Startup, _ usual: SSHDQuestion?
  ) -> [SSHDServer] {
    guard let program = program(system) else { return [] }
    let isNamed = startup.starts(["ssh", "sshd", "openssh", "openssh-server"])
    let commands = StartedCommands.of(system, startup)
    let started = commands.running(["sshd"]).compactMap(server)
    let isOwn = isNamed && (started.isEmpty || !startup.isSilent)
    var lines: [CommandLine] = []
    for line in (isOwn ? [arguments(system, startup.units).map(options)].compactMap { $0 } : []) + started
    where !lines.contains(line) { lines.append(line) }
    let possible = commands.mayRun(["sshd"]).compactMap(server).filter { !lines.contains($0) }
    let isStarted = isNamed || !started.isEmpty || !possible.isEmpty
    // What is told nothing is told nothing by anybody.
    if lines.isEmpty, isNamed || !isStarted { lines = [CommandLine()] }
    let sockets = ["ssh.socket", "sshd.socket"].contains {
      startup.booted.starts($0) && startup.units.path(of: $0) != nil
    }
    return (lines.map { ($0, true) } + possible.map { ($0, false) }).map { line, isCertain in
      SSHDServer(
        system, distribution, Call(line, system), usual, isStarted: isStarted, isCertain: isCertain,
        hasOtherPorts: line.hasPort || sockets, canBeAsked: canBeAsked(system, program))
    }
  }

  /// The command line of a server; nil for a call that only tests or prints a configuration.
  private static func server(_ command: UnitCommand) -> CommandLine? {
    let arguments = command.arguments
    return arguments.contains { ["-t", "-T", "-G", "-V"].contains($0) } ? nil : options(arguments)
  }

  private init(
    _ system: System, _ distribution: Distribution, _ call: Call, _ usual: SSHDQuestion?, isStarted: Bool,
    isCertain: Bool, hasOtherPorts: Bool, canBeAsked: Bool
  ) {
    (self.system, self.distribution) = (system, distribution)
    (self.isStarted, self.isCertain, self.hasOtherPorts) = (isStarted, isCertain, hasOtherPorts)
    (configuration, arguments) = (call.configuration, call.arguments)
    self.canBeAsked = canBeAsked
    everybody = call.question(usual)
  }

  private static func canBeAsked(_ system: System, _ program: String?) -> Bool {
    system.isLive && program == Tool.sshd.rawValue
  }

  /// How a server of this command line is asked.
  private struct Call {
    let configuration: SSHDConfiguration
    let arguments: [String]

    init(_ command: CommandLine, _ system: System) {
      let file =
        command.file
        ?? SSHDConfiguration.files.first { system.exists($0) } ?? SSHDConfiguration.files[0]
      configuration = SSHDConfiguration(file, options: command.options, on: system)
      arguments = ["-T", "-f", file] + command.options.flatMap { ["-o", $0] } + Self.hostKey(configuration, system)
    }

    /// What holds for everybody, `asked` where it is the same; nil where sshd has to be asked about each.
    func question(_ asked: SSHDQuestion?) -> SSHDQuestion? {
      if configuration.hasMatches { return nil }
      if let asked, asked.arguments == arguments { return asked }
      return SSHDQuestion(arguments)
    }

    /// Of the keys that it would load sshd is given the one that it reads most quickly: before it answers, each is read
    /// and tried. Where the configuration names keys, or this one is not there, it takes its own.
    private static func hostKey(_ configuration: SSHDConfiguration, _ system: System) -> [String] {
      let quick = "/etc/ssh/ssh_host_ed25519_key"
      return configuration.namesHostKeys || !system.exists(quick) ? [] : ["-h", quick]
    }
  }

  /// Releases whose sshd is from before 7.0.
  private static let oldReleases: Set = [
    "debian:6", "debian:7", "debian:8", "raspbian:7", "raspbian:8", "ubuntu:10", "ubuntu:12", "ubuntu:14", "rhel:5",
    "rhel:6", "sles:11", "sles:12",
  ]

  private static func family(_ distribution: Distribution) -> String {
    distribution.id == "rhel" || distribution.like.contains("rhel") ? "rhel" : distribution.id
  }

  private static func isOld(_ distribution: Distribution) -> Bool {
    distribution.release.map { oldReleases.contains("\(family(distribution)):\($0)") } ?? false
  }

  /// 7.4, which keeps one rule of older ones.
  private static func isRedHat7(_ distribution: Distribution) -> Bool {
    family(distribution) == "rhel" && distribution.release == "7"
  }

  private var isBefore7: Bool {
    PackageDatabase.of(system).version(of: .sshd).map { $0 < PAM.Version(7, 0) } ?? Self.isOld(distribution)
  }

  private static func program(_ system: System) -> String? {
    if let path = Programs.path("sshd", system) { return path }
    return ["/usr/lib/ssh/sshd", "/usr/libexec/sshd", "/usr/lib/openssh/sshd"].first { system.exists($0) }
  }

  private struct CommandLine: Equatable {
    var file: String?
    var options: [String] = []
    var hasPort = false
  }

  /// Of the unit that starts it, or those that a start script gives it.
  private static func arguments(_ system: System, _ units: Units) -> [String]? {
    for name in ["ssh.service", "sshd.service", "ssh@.service", "sshd@.service"] {
      guard let unit = units.unit(name) else { continue }
      let environment = unit.environment { system.text($0) }
      guard let command = unit.commands(environment: environment).first(where: { Programs.base($0.program) == "sshd" })
      else { continue }
      return command.arguments
    }
    let files = ["/etc/default/ssh", "/etc/conf.d/sshd", "/etc/sysconfig/sshd"]
    return VariableFile.options(["SSHD_OPTS", "command_args", "OPTIONS"], in: files, system)?.words
  }

  /// `-f FILE`, `-o OPTION` and `-p PORT`.
  private static func options(_ arguments: [String]) -> CommandLine {
    var line = CommandLine()
    var rest = arguments[...]
    while let word = rest.popFirst() {
      if word.hasPrefix("-f") { line.file = word.count > 2 ? String(word.dropFirst(2)) : rest.popFirst() }
      if word.hasPrefix("-o"), let option = word.count > 2 ? String(word.dropFirst(2)) : rest.popFirst() {
        line.options.append(option)
      }
      if word.hasPrefix("-p") { line.hasPort = true }
    }
    return line
  }

  var file: String { configuration.file }
  var unreadable: Cause? { configuration.unreadable.first }
  var connections: SSHDConnections { configuration.connections(hasOtherPorts: hasOtherPorts) }

  /// The values for one person on one connection, and which of the two ways of reading gave them.
  func settings(for person: SSHDPerson, on connection: SSHDConnection) -> (SSHDSettings, Reason) {
    var own = configuration.settings(for: person, on: connection)
    own.admitsRootByDefault = isBefore7 || Self.isRedHat7(distribution)
    own.takesDSAByDefault = isBefore7
    // Nobody of that name: sshd could not look the groups up.
    guard canBeAsked, person.groups != nil else { return (own, Reason("sshd.configuration", file: file)) }
    let question = everybody ?? SSHDQuestion(arguments + ["-C", connection.specification(for: person.name)])
    guard let printed = question.answer else { return (own, Reason("sshd.ownParser", file: file)) }
    var settings = SSHDSettings(printed: printed)
    settings.takePlaces(from: own)
    return (settings, Reason("sshd.asked", file: file))
  }

  func needs(_ question: SSHDQuestion) -> Bool { isStarted && everybody === question }

  /// Begins to ask what holds for everybody: by the time it is needed the answer is there.
  func askAhead() {
    if canBeAsked, isStarted { everybody?.ask() }
  }
}
