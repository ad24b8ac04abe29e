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

  static let shells: Set<String> = ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh"]
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
    case "busybox": return arguments.isEmpty ? .rootShell : read(arguments, depth: depth + 1)
    case "openvt": return read(Self.afterOptions(arguments, withValues: ["-c"]), depth: depth + 1)
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
    if credentials.isUnreadable { return .unknown("an encrypted credential") }
    call.skipsAuthentication = options.skipsAuthentication || credentials.skipsAuthentication(of: program, system)
    if let user = options.user, user != GettyOptions.typedName {
      call.user = call.skipsAuthentication ? .only(user) : .preset(user)
    } else if call.skipsAuthentication, options.user == nil, options.skipsAuthentication {
      return .unknown("login -f without a name")
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
    case nil, .rootShell: return shell
    case .session(of: "root"): return .session(of: user)
    default: return .nothing
    }
  }

  private static let suloginOptions = OptionReader(
    "ept:", long: ["force": "e", "login-shell": "p", "timeout": "t", "help": "h", "version": "V"])

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
    let stock = system.exists(program) ? nil : OpenWrtSettings.scripts[program]
    guard let text = stock ?? system.text(program), text.hasPrefix("#!"),
      let interpreter = text.lines().first?.split(whereSeparator: { $0 == " " || $0 == "/" }),
      interpreter.contains(where: { Self.shells.contains(String($0)) || $0 == "openrc-run" })
    else { return .unknown(command) }
    return commands(text, arguments, depth) ?? .unknown(command)
  }

  /// The one thing that all ways through a script come to; nil where it names nothing that is known.
  private func commands(_ text: String, _ arguments: [String], _ depth: Int) -> TerminalReading? {
    // Scripts that start each other, or themselves many times over, come to an end.
    let candidates = ShellScript(text, arguments).commands.filter(names)
    guard depth < 4, candidates.count <= 16 else { return nil }
    let found = candidates.compactMap { command -> TerminalReading? in
      let reading = read(command.words, depth: depth + 1)
      return reading == .nothing ? nil : reading
    }
    var readings = Set(found)
    if text.contains("ttylogin") { readings = readings.filter { asks($0) == asksOnTerminals } }
    if readings.count > 1 { return .unknown("a script with several ways: \(readings.count)") }
    return readings.first
  }

  private func asks(_ reading: TerminalReading) -> Bool {
    guard case .login(let call) = reading else { return false }
    return !call.skipsAuthentication
  }

  /// Whether a command of a script is one that terminals are given to.
  private func names(_ command: ShellScript.Command) -> Bool {
    let words = command.words.drop { Self.wrappers[Programs.base($0)] != nil || $0.hasPrefix("-") }
    let name = Programs.base(words.first ?? "")
    if name.ends(with: "getty") || ["login", "sulogin", "su", "runuser"].contains(name) { return true }
    if Self.sessions.contains(name) { return true }
    return Self.shells.contains(name) && (command.isExec || command.isLast)
      && !words.dropFirst().contains { !$0.hasPrefix("-") || $0.contains("c") }
  }

  static func afterOptions(_ words: [String], withValues: Set<String>) -> [String] {
    var rest = words[...]
    while let word = rest.first, word.hasPrefix("-") || word.contains("=") {
      rest = rest.dropFirst(withValues.contains(word) ? 2 : 1)
      if word == "--" { break }
    }
    return Array(rest)
  }
}
