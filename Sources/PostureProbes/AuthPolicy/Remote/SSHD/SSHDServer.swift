import Posture
import PosturePlatform
import Synchronization

/// sshd of the examined system: its values by sshd's own word where it can be asked, else by our reading.
struct SSHDServer: Sendable {
  /// What sshd has said of everybody at once; nil where it has to be asked about each.
  private let everybody: SSHDWord?
  private let configuration: SSHDConfiguration
  private let arguments: [String]
  private let canBeAsked: Bool
  /// A socket unit or the command line names ports of its own.
  private let hasOtherPorts: Bool
  private let admitsRootByDefault: Bool
  private let takesDSAByDefault: Bool

  /// nil where sshd is not installed.
  init?(_ context: AuthContext) {
    let system = context.system
    guard let program = Self.program(system) else { return nil }
    let command = Self.command(context)
    let file =
      command.file
      ?? SSHDConfiguration.files.first { system.exists($0) } ?? SSHDConfiguration.files[0]
    hasOtherPorts =
      command.hasPort
      || ["ssh.socket", "sshd.socket"].contains {
        context.startup.booted.starts($0) && context.startup.units.path(of: $0) != nil
      }
    configuration = SSHDConfiguration(file, options: command.options, on: system)
    everybody = configuration.hasMatches ? nil : SSHDWord()
    arguments = ["-f", file] + command.options.flatMap { ["-o", $0] }
    let isBefore7 = Self.version(context).map { $0 < PAM.Version(7, 0) } ?? Self.isOld(context.distribution)
    admitsRootByDefault = isBefore7 || Self.isRedHat7(context.distribution)
    takesDSAByDefault = isBefore7
    canBeAsked = system.isLive && program == Tool.sshd.rawValue
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

  private static func version(_ context: AuthContext) -> PAM.Version? {
    PackageDatabase.version(
      of: ["openssh-server"], apk: "openssh-server", folder: "openssh-", context.system)
  }

  private static func program(_ system: System) -> String? {
    if let path = Programs.path("sshd", system) { return path }
    return ["/usr/lib/ssh/sshd", "/usr/libexec/sshd", "/usr/lib/openssh/sshd"].first { system.exists($0) }
  }

  private struct CommandLine {
    var file: String?
    var options: [String] = []
    var hasPort = false
  }

  /// `-f FILE`, `-o OPTION` and `-p PORT` of the command that starts it.
  private static func command(_ context: AuthContext) -> CommandLine {
    let units = context.startup.units
    for name in ["ssh.service", "sshd.service", "ssh@.service", "sshd@.service"] {
      guard let unit = units.unit(name) else { continue }
      let environment = unit.environment { context.system.text($0) }
      guard let command = unit.commands(environment: environment).first(where: { Programs.base($0.program) == "sshd" })
      else { continue }
      return options(command.arguments)
    }
    return CommandLine()
  }

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
  var connections: [SSHDConnection] { configuration.connections(hasOtherPorts: hasOtherPorts) }

  /// The values for one person on one connection, and which of the two ways of reading gave them.
  func settings(for person: SSHDPerson, on connection: SSHDConnection) -> (SSHDSettings, Reason) {
    var own = configuration.settings(for: person, on: connection)
    own.admitsRootByDefault = admitsRootByDefault
    own.takesDSAByDefault = takesDSAByDefault
    // Nobody of that name: sshd could not look the groups up.
    guard canBeAsked, person.groups != nil else { return (own, Reason("sshd.configuration", file: file)) }
    let ask = question(person, connection)
    guard let printed = everybody.map({ $0.once(ask) }) ?? ask() else {
      return (own, Reason("sshd.ownParser", file: file))
    }
    var settings = SSHDSettings(printed: printed)
    settings.takePlaces(from: own)
    return (settings, Reason("sshd.asked", file: file))
  }

  /// Begins to ask what holds for everybody: by the time it is needed the answer is there.
  func askAhead(for person: SSHDPerson) {
    guard canBeAsked, person.groups != nil, let everybody, let connection = connections.first else { return }
    let ask = question(person, connection)
    // Where no thread can be had, it is asked in its turn.
    _ = try? Thread.start("sshd") { _ = everybody.once(ask) }
  }

  private func question(_ person: SSHDPerson, _ connection: SSHDConnection) -> @Sendable () -> String? {
    let specification =
      "user=\(person.name),host=\(connection.host),addr=\(connection.address),laddr=\(connection.localAddress),"
      + "lport=\(connection.localPort)"
    let arguments = ["-T"] + arguments + ["-C", specification]
    return { Self.ask(arguments) }
  }

  private static func ask(_ arguments: [String]) -> String? {
    guard case .success(let output)? = Tool.sshd.run(arguments), output.status == 0 else { return nil }
    return String(decoding: output.out, as: UTF8.self)
  }
}

/// An answer of sshd that holds for everybody. Each asking costs as much as all the rest of the examination. Who comes
/// first asks; whoever comes meanwhile waits.
private final class SSHDWord: Sendable {
  private let text = Mutex<String??>(nil)

  func once(_ ask: () -> String?) -> String? {
    text.withLock { text in
      if let known = text { return known }
      let answer = ask()
      text = .some(answer)
      return answer
    }
  }
}
