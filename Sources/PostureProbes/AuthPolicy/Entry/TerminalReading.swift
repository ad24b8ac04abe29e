/// What happens at a terminal.
enum TerminalReading: Hashable, Sendable {
  /// The text login.
  case login(LoginCall)
  /// A shell of this user's without any question.
  case shell(of: String)
  /// A whole session of this user's without any question, by a program that is not modelled.
  case session(of: String)
  /// root's password, as sulogin(8) asks for it.
  case sulogin(isForced: Bool)
  /// Nothing that lets anybody in.
  case nothing
  /// Something that is not modelled: its command.
  case unknown(String)
  /// A way in of which the files do not tell whose it is, or which of several it is.
  case undecided(String)

  static let stock = TerminalReading.login(LoginCall())
  static let rootShell = TerminalReading.shell(of: root)
  private static let root = "root"

  /// The same where `user` runs it in root's place.
  func run(by user: String) -> TerminalReading {
    switch self {
    case .shell(of: Self.root): .shell(of: user)
    case .session(of: Self.root): .session(of: user)
    default: self
    }
  }
}

/// How the login program is called.
struct LoginCall: Hashable, Sendable {
  enum User: Hashable, Sendable {
    /// Whoever types a name.
    case anybody
    /// The name is filled in; after a failure another can be typed.
    case preset(String)
    /// Nobody else.
    case only(String)
  }

  var user = User.anybody
  var skipsAuthentication = false
  var program = "/bin/login"
}

/// Reads command lines of terminals: gettys, login, shells, and scripts that end in one of them.
struct TerminalReader {
  let system: System
  /// Credentials of the unit (systemd.exec(5)).
  var credentials = UnitCredentials.none
  /// OpenWrt's `ttylogin`.
  var asksOnTerminals = false

  static let shells: Set<String> = [
    "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "hush", "msh", "lash", "rbash",
  ]
  /// Programs that run shells in windows of their own.
  private static let multiplexers: Set<String> = ["tmux", "screen"]
  /// Programs that let somebody in, shells, wrappers and sessions apart.
  private static let logins: Set<String> = [
    "login", "sulogin", "sushell", "su", "runuser", "sudo", "snap", "busybox", "openvt", "kmscon",
  ]
  /// Programs that run another, each with those of its options that take a value.
  private static let wrappers: [String: Set<String>] = [
    "setsid": [], "env": ["-u", "-C"], "nice": ["-n"], "ionice": ["-c", "-n", "-p", "-P", "-u"], "cttyhack": [],
    "chrt": ["-T", "-P", "-D"], "exec": ["-a"], "chpst": ["-u", "-U", "-b", "-e", "-n", "-l", "-L", "-/"],
    "command": [], "nohup": [], "stdbuf": ["-i", "-o", "-e"], "dbus-run-session": [], "dbus-launch": [],
  ]
  /// What gives its user a display of their own: the start of X, compositors, whole desktops.
  static let sessions: Set<String> = [
    "startx", "xinit", "sx", "cage", "weston", "weston-launch", "sway", "labwc", "wayfire", "river", "Hyprland", "niri",
    "kwin_wayland", "kwin_wayland_wrapper", "startplasma-wayland", "startplasma-x11", "gnome-session", "gnome-shell",
    "gnome-kiosk", "phoc", "phosh", "phosh-session", "miriway", "mir-kiosk", "ubuntu-frame", "hikari", "dwl",
    "gamescope",
  ]

  /// What `words` come to on their terminal.
  func read(_ words: [String], depth: Int = 0) -> TerminalReading {
    guard let first = words.first, depth < 8 else { return .unknown(words.joined(separator: " ")) }
    let program = first.hasPrefix("-") ? String(first.dropFirst()) : first
    let arguments = Array(words.dropFirst())
    switch Programs.base(program) {
    case "agetty", "getty", "mingetty", "fgetty", "ngetty", "rungetty", "getty.agetty":
      return getty(arguments, depth)
    case "login": return login(program, arguments)
    case "sulogin": return .sulogin(isForced: Self.suloginOptions.read(arguments).options.contains { $0.name == "e" })
    case "sushell": return .rootShell
    case "systemd-sulogin-shell": return .sulogin(isForced: false)
    case "su", "runuser": return substitute(program, arguments, depth)
    case "sudo": return sudo(arguments, depth)
    case "snap": return Self.snap(arguments).map { read([$0], depth: depth + 1) } ?? .unknown("snap")
    case "busybox": return arguments.isEmpty ? .rootShell : read(arguments, depth: depth + 1)
    case "openvt": return read(Self.afterOptions(arguments, withValues: ["-c"]), depth: depth + 1)
    case let name where Self.multiplexers.contains(name):
      return Self.isDetached(arguments) ? .unknown(words.joined(separator: " ")) : .rootShell
    case "kmscon": return kmscon(arguments, depth)
    case let name where Self.shells.contains(name): return shell(arguments, depth)
    case let name where Self.sessions.contains(name): return .session(of: "root")
    case let name:
      if let options = Self.wrappers[name] {
        return read(Self.afterOptions(arguments, withValues: options), depth: depth + 1)
      }
      return script(program, arguments, depth)
    }
  }

  // MARK: Programs

  private func getty(_ arguments: [String], _ depth: Int) -> TerminalReading {
    var options = GettyOptions(arguments.map(Self.mingettyWord))
    options.autologin = options.autologin ?? credentials.autologin.flatMap { $0.isEmpty ? nil : $0 }
    return read([options.program] + options.loginArguments, depth: depth + 1)
  }

  /// mingetty(8) calls the login program by another name.
  private static func mingettyWord(_ word: String) -> String {
    word.hasPrefix("--loginprog") ? word.substituting("--loginprog", with: "--login-program") : word
  }

  private func login(_ program: String, _ arguments: [String]) -> TerminalReading {
    let options = LoginOptions(arguments)
    var call = LoginCall(program: program)
    if credentials.isUnreadable { return .undecided("an encrypted credential") }
    call.skipsAuthentication = options.skipsAuthentication || credentials.skipsAuthentication(of: program, system)
    if let user = options.user, user != GettyOptions.typedName {
      if !Self.isName(user) { return call.skipsAuthentication ? .undecided("whose login is not known") : .login(call) }
      call.user = call.skipsAuthentication ? .only(user) : .preset(user)
    } else if call.skipsAuthentication, options.user == nil, options.skipsAuthentication {
      return .undecided("login -f without a name")
    }
    return .login(call)
  }

  /// `su - pi` by root: a session of that user's, no question. With a command it is what that is.
  private func substitute(_ program: String, _ arguments: [String], _ depth: Int) -> TerminalReading {
    let (options, operands) = Self.suOptions.read(arguments)
    let named = options.last { $0.name == "u" }?.value
    let user = named ?? operands.first { $0 != "-" } ?? "root"
    let shell = TerminalReading.login(LoginCall(user: .only(user), skipsAuthentication: true, program: program))
    let command = options.last { $0.name == "c" }?.value.map { commands($0, [], depth) ?? .nothing }
    let program = named != nil && !operands.isEmpty ? read(operands, depth: depth + 1) : nil
    switch command ?? program {
    case nil, .rootShell: return Self.isName(user) ? shell : .undecided("whose shell is not known")
    case .session(of: "root"): return run(.session(of: "root"), by: user)
    default: return .nothing
    }
  }

  private static let suloginOptions = OptionReader(
    "ept:", long: ["force": "e", "login-shell": "p", "timeout": "t", "help": "h", "version": "V"])

  /// `sudo -u pi startx` by root. The password that others are asked for is another door's matter.
  private func sudo(_ arguments: [String], _ depth: Int) -> TerminalReading {
    let command = Self.afterOptions(arguments, withValues: Self.sudoValues)
    let options = Self.sudoOptions.read(Array(arguments.dropLast(command.count))).options
    let user = options.last { $0.name == "u" }?.value ?? "root"
    if !command.isEmpty { return run(read(command, depth: depth + 1), by: user) }
    return options.contains { $0.name == "i" || $0.name == "s" } ? run(.rootShell, by: user) : .nothing
  }

  private static let sudoValues: Set<String> = [
    "-u", "-g", "-C", "-D", "-h", "-p", "-r", "-t", "-T", "-R", "-U", "--user", "--group",
  ]
  private static let sudoOptions = OptionReader(
    "u:g:C:D:h:p:r:t:T:R:U:AbBEeHiKklnPSsVv", long: ["user": "u", "group": "g", "login": "i", "shell": "s"])

  private func run(_ reading: TerminalReading, by user: String) -> TerminalReading {
    let other = reading.run(by: user)
    return other == reading || Self.isName(user) ? other : .undecided("whose session is not known")
  }

  /// Whether a word is somebody's name: not empty, no number, nothing that the files do not tell.
  private static func isName(_ user: String) -> Bool {
    !user.isEmpty && !user.hasPrefix("#") && !UnknownText.isIn(user)
  }

  /// The program of `snap run NAME.PROGRAM`, where it is one that gives its user a display.
  private static func snap(_ arguments: [String]) -> String? {
    guard arguments.first == "run" else { return nil }
    return afterOptions(Array(arguments.dropFirst()), withValues: []).first.map { String($0.prefix { $0 != "." }) }
      .flatMap { sessions.contains($0) ? $0 : nil }
  }

  /// Windows that nobody sees.
  private static func isDetached(_ arguments: [String]) -> Bool {
    arguments.contains { $0 == "-d" || $0 == "-dm" || $0 == "-dmS" || $0 == "-D" }
  }

  private static let suOptions = OptionReader(
    "c:flg:G:mps:u:w:PT",
    long: [
      "command": "c", "session-command": "c", "fast": "f", "login": "l", "group": "g", "supp-group": "G",
      "preserve-environment": "m", "shell": "s", "user": "u", "whitelist-environment": "w", "pty": "P", "no-pty": "T",
    ])

  private func kmscon(_ arguments: [String], _ depth: Int) -> TerminalReading {
    guard let start = arguments.firstIndex(where: { $0 == "--login" || $0 == "-l" }) else {
      return .login(LoginCall())
    }
    return read(Array(arguments[(start + 1)...].drop { $0 == "--" }), depth: depth + 1)
  }

  /// A shell that reads the terminal lets root in; one that runs a script or a command is what that is.
  private func shell(_ arguments: [String], _ depth: Int) -> TerminalReading {
    if let flag = arguments.firstIndex(where: { $0.hasPrefix("-") && !$0.hasPrefix("--") && $0.contains("c") }) {
      return commands(arguments.dropFirst(flag + 1).first ?? "", [], depth) ?? .nothing
    }
    let operand = arguments.first { !$0.hasPrefix("-") && $0 != GettyOptions.typedName }
    guard let operand else { return .rootShell }
    return script(operand, Array(arguments.drop { $0 != operand }.dropFirst()), depth)
  }

  // MARK: Scripts

  private func script(_ program: String, _ arguments: [String], _ depth: Int) -> TerminalReading {
    let command = ([program] + arguments).joined(separator: " ")
    guard let text = text(of: program) else { return .unknown(command) }
    return commands(text, arguments, depth) ?? .unknown(command)
  }

  /// The text of a program that is a script of a shell's. Nobody writes longer ones than these.
  func text(of program: String) -> String? {
    guard !UnknownText.isIn(program) else { return nil }
    var found = OpenWrtSettings.scripts[program]
    if let size = (try? system.status(program))?.size { found = size <= 65_536 ? system.text(program) : nil }
    guard let text = found, text.hasPrefix("#!"),
      let interpreter = text.lines().first?.split(whereSeparator: { $0 == " " || $0 == "/" }),
      interpreter.contains(where: { Self.shells.contains(String($0)) || $0 == "openrc-run" })
    else { return nil }
    return text
  }

  /// What `$(cat FILE)` puts into a command; people's own files are not looked into.
  func content(of path: String) -> String? { path.hasPrefix("/home/") ? nil : system.text(path) }

  /// The one thing that all ways through a script come to; nil where it names nothing that is known.
  private func commands(_ text: String, _ arguments: [String], _ depth: Int) -> TerminalReading? {
    // Scripts that start each other, or themselves many times over, come to an end.
    let candidates = ShellScript(text, arguments, files: content).commands.filter(names)
    guard depth < 4, candidates.count <= 16 else { return nil }
    let found = candidates.compactMap { command -> TerminalReading? in
      let reading = read(command.words, depth: depth + 1)
      return reading == .nothing ? nil : reading
    }
    var readings = Set(found)
    if text.contains("ttylogin") { readings = readings.filter { asks($0) == asksOnTerminals } }
    if readings.count > 1 { return .undecided("a script with several ways: \(readings.count)") }
    return readings.first
  }

  private func asks(_ reading: TerminalReading) -> Bool {
    guard case .login(let call) = reading else { return false }
    return !call.skipsAuthentication
  }

  /// Whether a command of a script is one that terminals are given to.
  private func names(_ command: ShellScript.Command) -> Bool {
    let words = Self.unwrapped(command.words)
    let name = Programs.base(words.first ?? "")
    if name.ends(with: "getty") || ["login", "sulogin", "su", "runuser"].contains(name) { return true }
    if Self.sessions.contains(name) || (name == "snap" && Self.snap(Array(words.dropFirst())) != nil) { return true }
    guard command.isExec || command.isLast else { return false }
    if Self.multiplexers.contains(name) { return true }
    return Self.shells.contains(name) && !words.dropFirst().contains { !$0.hasPrefix("-") || $0.contains("c") }
  }

  /// Without what only runs the program that follows.
  private static func unwrapped(_ words: [String]) -> ArraySlice<String> {
    var rest = words[...]
    while let word = rest.first {
      if Programs.base(word) == "sudo" {
        rest = afterOptions(rest.dropFirst(), sudoValues)
      } else if word.hasPrefix("-") || wrappers[Programs.base(word)] != nil {
        rest = rest.dropFirst()
      } else {
        break
      }
    }
    return rest
  }

  /// Whether a program of this name is one that is looked into wherever it is: any other is a daemon of its own.
  static func knows(_ program: String) -> Bool {
    let name = Programs.base(program)
    return name.ends(with: "getty") || logins.contains(name) || shells.contains(name) || multiplexers.contains(name)
      || sessions.contains(name) || wrappers[name] != nil
  }

  /// The terminal that a command line names or gives itself by a redirection, in a script of its own too.
  func terminal(_ words: [String]) -> String? {
    let scripts = words.prefix(2).compactMap { $0.hasPrefix("/") && !Self.knows($0) ? text(of: $0) : nil }
      .flatMap { LogicalLines($0, comments: ["#"]).map(\.text) }
    let parts = (words + scripts).flatMap { $0.words() }.map { word in String(word.filter { !"\"';()".contains($0) }) }
    if let named = ConsoleLine.terminal(in: [""] + parts) { return named }
    let hasGetty = parts.contains { Programs.base($0).ends(with: "getty") }
    guard let start = parts.firstIndex(where: { Programs.base($0) == "openvt" }) else {
      return hasGetty ? "console" : nil
    }
    let options = parts[start...].dropFirst()
    let number = options.firstIndex(of: "-c").flatMap { options.dropFirst($0 + 1 - options.startIndex).first }
    return number.map { "tty\($0)" } ?? "console"
  }

  static func afterOptions(_ words: [String], withValues: Set<String>) -> [String] {
    Array(afterOptions(words[...], withValues))
  }

  /// What follows the options, those with a value in the next word among them: `-u pi`, `-Hu pi`.
  private static func afterOptions(_ words: ArraySlice<String>, _ withValues: Set<String>) -> ArraySlice<String> {
    var rest = words
    while let word = rest.first, word.hasPrefix("-") || word.contains("=") || word == UnknownText.mark {
      let letter = word.hasPrefix("--") ? word : word.last.map { "-\($0)" } ?? word
      let takesNext = word.hasPrefix("-") && (withValues.contains(word) || withValues.contains(letter))
      rest = rest.dropFirst(takesNext ? 2 : 1)
      if word == "--" { break }
    }
    return rest
  }
}
