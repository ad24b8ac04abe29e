import Posture
import PosturePlatform

extension PAM {
  /// What is known of each module, by its name.
  enum ModuleModels {
    typealias Model = @Sendable (ModuleQuestion) -> ModuleAnswer

    /// `unix` of `/lib/security/pam_unix.so`.
    static func name(of module: String) -> String {
      var name = Path.name(of: module)
      if let dot = name.lastIndex(of: ".") { name = String(name[..<dot]) }
      return name.hasPrefix("pam_") ? String(name.dropFirst(4)) : name
    }

    /// The name as a part of a reason's code: `googleAuthenticator`.
    static func code(of module: String) -> String {
      let parts = name(of: module).utf8.split { !ASCII.isAlphanumeric($0) }
      let words = parts.map { String(decoding: $0, as: UTF8.self) }
      return words.isEmpty
        ? "module" : words.dropFirst().reduce(words[0]) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
    }

    static func answer(_ question: ModuleQuestion) -> ModuleAnswer {
      let name = question.entry.name
      guard question.pam.modules.has(question.entry.module), !isRemoved(name, question.pam) else {
        var answer = ModuleAnswer.fixed(.moduleUnknown)
        answer.name = "missingModule"
        return answer
      }
      if let model = table[name] { return model(question) }
      var answer = question.anything(
        Cause("pamModuleNotModelled", observed: "\(question.entry.module) decides, and is not modelled"))
      answer.asksPassword = true
      return answer
    }

    /// Modules that went away, for trees that do not show which are installed.
    static func isRemoved(_ name: String, _ pam: PAM) -> Bool {
      guard !pam.modules.areKnown, let version = pam.version else { return false }
      switch name {
      case "tally", "tally2": return version >= Version(1, 5)
      case "cracklib": return version >= Version(1, 5)
      case "lastlog": return version >= Version(1, 5, 3)
      default: return false
      }
    }

    private static let table: [String: Model] = plain.merging(filters) { $1 }.merging(proofs) { $1 }

    /// A fixed answer in each of the two groups; nil: the module has no such function.
    private static func always(_ auth: Code?, _ account: Code?) -> Model {
      { question in .fixed((question.group == .auth ? auth : account) ?? .moduleUnknown) }
    }

    /// The same, of a module that may have a password for those that follow.
    private static func asking(_ auth: Code, _ account: Code?) -> Model {
      let model = always(auth, account)
      return { question in model(question).asking(question) }
    }

    /// Modules that ask for no proof and stand in nobody's way.
    private static let plain: [String: Model] = [
      "permit": permit,
      "deny": always(.authenticationError, .authenticationError),
      "warn": always(.ignore, .ignore),
      "env": always(.ignore, .serviceError), "group": always(.ignore, nil), "faildelay": always(.ignore, nil),
      "issue": always(.ignore, nil), "keyinit": always(.ignore, nil), "mail": always(.ignore, nil),
      "lastlog": inactivity, "lastlog2": always(.ignore, .success),
      "loginuid": loginUID, "selinux": always(.authenticationError, nil),
      "limits": always(nil, nil), "umask": always(nil, nil), "mkhomedir": always(nil, nil), "motd": always(nil, nil),
      "namespace": always(nil, nil), "systemd": always(nil, nil), "elogind": always(nil, nil),
      "tty_audit": always(nil, nil), "setquota": always(nil, nil), "xauth": always(nil, nil),
      "ck_connector": always(nil, nil), "pwquality": always(nil, nil), "cracklib": always(nil, nil),
      "passwdqc": always(nil, nil), "pwhistory": always(nil, nil), "console": always(.ignore, nil),
      "gdm": passphrase, "tally2": tally, "tally": tally, "systemd_loadkey": asking(.ignore, nil),
      "fscrypt": always(.ignore, .success),
      "ecryptfs": asking(.ignore, nil), "mount": asking(.ignore, .success), "postgresok": always(.ignore, .success),
      "exec": command, "gnome_keyring": sideEffect, "kwallet5": sideEffect, "kwallet": sideEffect,
      "kwallet6": sideEffect,
      "ssh_add": sideEffect, "gnupg": sideEffect, "keyring": sideEffect,
    ]

    private static let permit: Model = { question in
      .fixed(
        .success, grant: Cause("pamPermits", observed: "\(question.entry.module) lets everybody through"))
    }

    /// Hands on the passphrase of the disk, where one was typed at boot.
    private static let passphrase: Model = { question in
      guard question.group == .auth else { return .fixed(.success) }
      return ModuleAnswer.oneOf(
        [.success, .authenticationUnavailable], Cause("conditionUnknown", observed: "pam_gdm.so")
      ).asking(question)
    }

    /// Where the kernel does not let it write the number, as in a container, it may be content with that.
    private static let loginUID: Model = { question in
      guard question.group == .account else { return .fixed(.moduleUnknown) }
      return .oneOf(
        [.success, .ignore], Cause("conditionUnknown", observed: "pam_loginuid.so: the kernel decides"))
    }

    /// Counts failures, as pam_faillock does now; its binary state is not read.
    private static let tally: Model = { question in
      .oneOf([.success, .ignore], Cause("conditionUnknown", observed: "\(question.entry.module)"))
    }

    /// Shuts accounts out that nobody has used for long.
    private static let inactivity: Model = { question in
      if question.account?.isRoot == true {
        return .fixed(.success, grant: Cause("pamFilterGrants", observed: "pam_lastlog.so lets root through"))
      }
      if !question.system.exists("/var/log/lastlog") { return .fixed(.ignore) }
      return .oneOf(
        [.success, .authenticationError],
        Cause("conditionUnknown", observed: "pam_lastlog.so: the day of the last login is not read"))
    }

    /// Runs a program, whose exit status decides; for another group than the one that is named, none.
    private static let command: Model = { question in
      let options = question.arguments.prefix { !$0.hasPrefix("/") }
      let groups = options.filter { ASCII.lowercased($0).hasPrefix("type=") }.map { $0.dropFirst(5) }
      if groups.contains(where: { $0 != question.group.rawValue }) { return .fixed(.ignore) }
      var answer = ModuleAnswer.oneOf(
        [.success, .systemError, .serviceError, .ignore],
        Cause("pamModuleNotModelled", observed: "\(question.entry.module) runs a program that decides"))
      answer.asksPassword = options.contains("expose_authtok")
      return answer
    }

    /// Unlocks a store with the password that another module asked for; whether that works is told to nobody.
    private static let sideEffect: Model = { question in
      guard question.group == .auth else { return .fixed(.moduleUnknown) }
      return ModuleAnswer.oneOf(
        [.success, .ignore, .serviceError, .authenticationError],
        Cause("pamModuleNotModelled", observed: "\(question.entry.module) decides whether somebody gets in")
      ).asking(question)
    }
  }
}
