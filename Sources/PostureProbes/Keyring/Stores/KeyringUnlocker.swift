import Posture
import PosturePlatform

/// What hands the login keyring its password when a person comes in, without asking them for it: a program that PAM
/// runs for the session, or a unit of the person's own service manager.
struct KeyringUnlocker: Hashable, Sendable {
  /// What has to be there for it; nil: where it has the password from does not show.
  let opening: Opening?
  let script: String
  let place: Place

  static func find(_ context: KeyringContext, _ home: Home) -> KeyringUnlocker? {
    let found = (ofLogins(context) + ofUnits(home)).lazy.compactMap { look($0, home) }
    // One that is known to open it needs no other.
    return found.first { $0.opening != nil } ?? found.first
  }

  /// What is run: words, and where that is written.
  private typealias Call = (words: [String], place: Place)

  private static func look(_ call: Call, _ home: Home) -> KeyringUnlocker? {
    guard let (name, text) = script(call.words, home), let script = UnlockScript(text) else { return nil }
    return KeyringUnlocker(opening: opening(script.source, home), script: name, place: call.place)
  }

  /// The text of a script, by a shell or by itself.
  private static func script(_ words: [String], _ home: Home) -> (name: String, text: String)? {
    guard let program = words.first else { return nil }
    guard ["sh", "bash", "dash"].contains(Path.name(of: program)) else {
      // The kernel starts no other text.
      return text(program, home).flatMap { $0.hasPrefix("#!") ? (program, $0) : nil }
    }
    if let flag = words.firstIndex(where: { $0.hasPrefix("-") && $0.ends(with: "c") }), flag + 1 < words.count {
      return (program, words[flag + 1])
    }
    return words.dropFirst().first { $0.hasPrefix("/") }.flatMap { path in text(path, home).map { (path, $0) } }
  }

  /// Small files alone: most of what units start is no script.
  private static func text(_ path: String, _ home: Home) -> String? {
    let (own, cap) = (home.path(""), 64 << 10)
    if path.hasPrefix(own) { return (try? home.read(String(path.dropFirst(own.count)), cap: cap))?.text }
    return (try? home.system.read(path, cap: cap))?.text
  }

  // MARK: What it needs

  private static func opening(_ source: UnlockScript.Source, _ home: Home) -> Opening? {
    let hasTPM = MachineDoors.hasTPM(home.system)
    switch source {
    case .tpm: return hasTPM ? Opening([.device]) : nil
    case .unclear: return nil
    case .credential(let paths):
      let seals = paths.compactMap { text(named($0, for: home.person), home) }.map { HostCredentials.Seal($0.utf8) }
      if seals.contains(.nothing) { return .always }
      // Without a word of its own a credential is sealed as this machine seals.
      let isByFile = seals.contains(.hostKey) || (!hasTPM && !seals.contains(.tpm))
      if isByFile { return HostCredentials.hasHostKey(home.system) ? .always : nil }
      return hasTPM ? Opening([.device]) : nil
    }
  }

  private static func named(_ path: String, for person: Account) -> String {
    ["PAM_USER", "USER", "LOGNAME"].reduce(path) { path, name in
      path.substituting("${\(name)}", with: person.name).substituting("$\(name)", with: person.name)
    }
  }

  // MARK: Who runs it

  /// Services that begin a session with or without a password.
  private static let services =
    DefaultStoreRemarks.services + ["gdm-autologin", "lightdm-autologin", "sddm-autologin", "systemd-user"]

  private static func ofLogins(_ context: KeyringContext) -> [Call] {
    let (distribution, accounts, system) = (context.distribution, context.accounts, context.system)
    let pam = system.shared { PAM(system, distribution, accounts) }
    let lines = services.filter(pam.hasService).flatMap { pam.lines(of: $0, .session) }
    return lines.filter { $0.module == "pam_exec.so" && $0.isInstalled }.compactMap { line in
      if line.arguments.contains("type=close_session") { return nil }
      let words = line.arguments.drop { !$0.hasPrefix("/") }
      return words.isEmpty ? nil : (Array(words), line.place)
    }
  }

  private static let ownUnits = ".config/systemd/user"

  private static func ofUnits(_ home: Home) -> [Call] {
    let folders = [home.path(ownUnits), "/etc/systemd/user", "/usr/lib/systemd/user"]
    let wanted = folders.flatMap { folder in
      let targets = ((try? home.system.list(folder)) ?? []).filter { $0.ends(with: ".target.wants") }
      return targets.prefix(64).flatMap { ((try? home.system.list("\(folder)/\($0)")) ?? []).prefix(256) }
    }
    let names = Set(wanted.filter { $0.ends(with: ".service") })
    return names.sorted().flatMap { calls($0, home) }
  }

  private static func calls(_ name: String, _ home: Home) -> [Call] {
    let paths = [home.path("\(ownUnits)/\(name)"), "/etc/systemd/user/\(name)", "/usr/lib/systemd/user/\(name)"]
    guard let unit = UnitName(name),
      let (path, text) = paths.lazy.compactMap({ path in text(path, home).map { (path, $0) } }).first
    else { return [] }
    let settings = UnitFile.parse(text.substituting("%h", with: home.person.home), path: path)
    return Unit(name: unit, fragment: path, isMasked: false, settings: settings).commands()
      .map { ($0.words, $0.place) }
  }
}
