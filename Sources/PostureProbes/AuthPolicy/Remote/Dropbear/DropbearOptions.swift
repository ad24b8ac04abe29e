import Posture

/// What dropbear(8) is told on its command line.
struct DropbearOptions: Hashable, Sendable {
  /// -s: nobody by password.
  var refusesPasswords = false
  /// -g: not root by password.
  var refusesRootPassword = false
  /// -w: not root at all.
  var refusesRoot = false
  /// -B: an empty password is enough.
  var takesEmpty = false
  /// -t: a password and a key.
  var asksBoth = false
  /// -G: members of this group only.
  var group: String?
  /// -D: the directory of authorized_keys.
  var keyFolder: String?
  /// Whether it is sure that a boot comes to the command.
  var isCertain = true
  /// Where it was read.
  var place: Place

  init(place: Place) { self.place = place }

  init(_ arguments: [String], place: Place) {
    self.place = place
    var rest = arguments[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("-") else { continue }
      var letters = word.dropFirst()
      while let letter = letters.popFirst() {
        if Self.withValue.contains(letter) {
          // The value is the rest of the word, or the next word.
          take(letter, letters.isEmpty ? rest.popFirst() ?? "" : String(letters))
          break
        }
        take(letter)
      }
    }
  }

  private static let withValue: Set<Character> = ["b", "r", "D", "G", "T", "p", "P", "W", "K", "I", "c", "l", "u", "A"]

  private mutating func take(_ letter: Character, _ value: String) {
    if letter == "G" { group = value }
    if letter == "D" { keyFolder = value }
  }

  private mutating func take(_ letter: Character) {
    switch letter {
    case "s": refusesPasswords = true
    case "g": refusesRootPassword = true
    case "w": refusesRoot = true
    case "B": takesEmpty = true
    case "t": asksBoth = true
    default: break
    }
  }
}

/// How dropbear is started: every instance with its options, none where it is not.
struct DropbearSetup: Sendable {
  var instances: [DropbearOptions]
  /// OpenWrt's own patches: root's empty password is enough, and root's keys lie in /etc/dropbear.
  var isOpenWrt: Bool
  /// The PAM service of one that was built with PAM; nil for one that reads the passwords itself.
  var service: String?

  init(_ context: AuthContext) {
    let system = context.system
    isOpenWrt =
      context.distribution.id == "openwrt" || context.distribution.like.contains("openwrt")
      || system.exists("/etc/config/dropbear")
    service = Self.service(system)
    let isStarted = context.startup.starts(["dropbear"])
    if let file = system.text("/etc/config/dropbear") {
      instances = isStarted ? Self.uci(file) : []
      return
    }
    let commands = StartedCommands.of(system, context.startup)
    let certain = commands.running(["dropbear"]).map { DropbearOptions($0.arguments, place: $0.place) }
    instances =
      certain
      + commands.mayRun(["dropbear"]).map { command in
        var options = DropbearOptions(command.arguments, place: command.place)
        options.isCertain = false
        return options
      }
    guard isStarted, certain.isEmpty || !context.startup.isSilent,
      let own = Self.unit(context) ?? Self.script(system), !instances.contains(own)
    else { return }
    instances.append(own)
  }

  private static func service(_ system: System) -> String? {
    guard let program = Programs.path("dropbear", system),
      let file = try? system.read(Programs.target(of: program, system), cap: 4 << 20),
      ByteSearch.contains(file.bytes, "libpam.so")
    else { return nil }
    return ["/etc/pam.d/dropbear", "/usr/lib/pam.d/dropbear"].contains(where: system.exists) ? "dropbear" : "sshd"
  }

  // MARK: OpenWrt

  /// Sections of type dropbear; an option that is not there is on.
  private static func uci(_ text: String) -> [DropbearOptions] {
    var instances: [(options: DropbearOptions, isOn: Bool)] = []
    var isOurs = false
    for line in LogicalLines(text) {
      let words = OpenWrtSettings.words(line.text)
      if words.first == "config" {
        isOurs = words.count > 1 && words[1] == "dropbear"
        let place = Place("/etc/config/dropbear", line: line.number)
        if isOurs { instances.append((DropbearOptions(place: place), true)) }
      }
      guard isOurs, words.first == "option", words.count > 2, !instances.isEmpty else { continue }
      let isOff = ["0", "off", "no", "false", "disabled"].contains(words[2].lowercased())
      let last = instances.count - 1
      switch words[1] {
      case "enable": instances[last].isOn = !isOff
      case "PasswordAuth": instances[last].options.refusesPasswords = isOff
      case "RootPasswordAuth": instances[last].options.refusesRootPassword = isOff
      case "RootLogin": instances[last].options.refusesRoot = isOff
      default: break
      }
    }
    return instances.filter(\.isOn).map(\.options)
  }

  // MARK: Elsewhere

  private static func unit(_ context: AuthContext) -> DropbearOptions? {
    for name in ["dropbear.service", "dropbear@.service"] {
      guard let unit = context.startup.units.unit(name) else { continue }
      let environment = unit.environment { context.system.text($0) }
      let command = unit.commands(environment: environment).first { $0.program.ends(with: "dropbear") }
      if let command { return DropbearOptions(command.arguments, place: command.place) }
    }
    return nil
  }

  /// Variables of the files that start scripts read; nil where they keep Debian's script from starting it.
  private static func script(_ system: System) -> DropbearOptions? {
    let debian = "/etc/default/dropbear"
    if let off = VariableFile.options(["NO_START"], in: [debian], system), off.program != "0" { return nil }
    let options = VariableFile.options(
      ["DROPBEAR_EXTRA_ARGS", "DROPBEAR_OPTS", "DROPBEAR_ARGS"],
      in: [debian, "/etc/conf.d/dropbear", "/etc/sysconfig/dropbear"], system)
    return options.map { DropbearOptions($0.words, place: $0.place) } ?? startScript(system)
      ?? DropbearOptions(place: Place(Programs.path("dropbear", system) ?? "/usr/sbin/dropbear"))
  }

  /// What a start script itself gives it.
  private static func startScript(_ system: System) -> DropbearOptions? {
    let folder = "/etc/init.d"
    let names = ((try? system.list(folder)) ?? []).filter { (InitScripts.service($0) ?? $0) == "dropbear" }
    return names.lazy.compactMap { name in
      let path = "\(folder)/\(name)"
      return ShellScript(system.text(path) ?? "", []).commands.lazy.compactMap { arguments(in: $0.words) }.first
        .map { DropbearOptions($0, place: Place(path)) }
    }.first
  }

  /// Of dropbear, called as it is or by start-stop-daemon(8), which passes on what stands behind "--".
  private static func arguments(in words: [String]) -> [String]? {
    // A case of the script may stand before it.
    let command = words.drop { $0.ends(with: ")") }
    guard let first = command.first else { return nil }
    if Programs.base(first) == "dropbear" { return Array(command.dropFirst()) }
    guard Programs.base(first) == "start-stop-daemon", command.contains(where: { Programs.base($0) == "dropbear" }),
      !command.contains(where: { $0.hasPrefix("-K") || $0 == "--stop" })
    else { return nil }
    return Array(command.drop { $0 != "--" }.dropFirst())
  }
}
