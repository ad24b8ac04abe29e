import Posture
import PosturePlatform

extension PAM.ModuleModels {
  /// Modules that look at who calls from where, and ask nothing.
  static let filters: [String: Model] = [
    "rootok": rootok, "nologin": nologin, "wheel": wheel, "securetty": securetty, "localuser": localuser,
    "usertype": usertype, "shells": shells, "succeed_if": PAM.SucceedIf.answer, "listfile": PAM.ListFile.answer,
    "faillock": PAM.FailLock.answer, "access": PAM.Access.answer, "time": PAM.TimeLimits.answer, "debug": debug,
    "echo": echo, "cap": capabilities, "sepermit": PAM.SELinuxPermission.answer,
    "selinux_permit": PAM.SELinuxPermission.answer,
  ]

  private static func granted(_ code: PAM.Code, _ question: PAM.ModuleQuestion, _ why: String) -> PAM.ModuleAnswer {
    .fixed(code, grant: code == .success ? Cause("pamFilterGrants", observed: why) : nil)
  }

  private static let rootok: Model = { question in
    granted(
      question.call.callerUID == 0 ? .success : .authenticationError, question,
      "pam_rootok.so lets every process of root through")
  }

  private static let nologin: Model = { question in
    let ordinary: PAM.Code = question.has("successok") ? .success : .ignore
    let path = question.value("file") ?? ["/run/nologin", "/etc/nologin"].first(where: question.system.exists)
    guard let path, !path.isEmpty, let status = try? question.system.status(path) else { return .fixed(ordinary) }
    let code = question.account?.isRoot == true ? ordinary : .authenticationError
    var answer = PAM.ModuleAnswer.fixed(status.kind == .directory ? .systemError : code)
    answer.because = [Reason("nologin", file: path)]
    return answer
  }

  private static let wheel: Model = { question in
    let words = Set(question.arguments)
    if words.contains("root_only"), question.account?.isRoot != true { return .fixed(.ignore) }
    let caller: Account?
    if let name = question.call.caller {
      guard let known = question.accounts[name] else {
        return question.anything(Cause("membershipUnknown", observed: "groups of \(name) cannot be asked"))
      }
      caller = known
    } else {
      caller = question.call.callerUID == 0 ? question.accounts.all.first { $0.isRoot } : question.account
    }
    guard let caller else { return .fixed(.serviceError) }
    let group = question.value("group") ?? (question.accounts.hasGroup("wheel") ? "wheel" : "root")
    let denies = words.contains("deny")
    let trusts = words.contains("trust")
    guard question.accounts.hasGroup(group) else { return .fixed(denies ? .ignore : .authenticationError) }
    let pass: PAM.Code = trusts ? .success : .ignore
    let code: PAM.Code = caller.isMember(of: group) != denies ? pass : .permissionDenied
    return granted(code, question, "pam_wheel.so trust: \(caller.name) and group \(group)")
  }

  private static let securetty: Model = { question in
    guard question.account?.isRoot == true else { return .fixed(.success) }
    let paths = ["/etc/securetty", "/usr/etc/securetty", "/usr/share/securetty"]
    guard let path = paths.first(where: question.system.exists) else { return .fixed(.success) }
    return PAM.SecureTerminals(question.system, path).answer(question)
  }

  private static let localuser: Model = { question in
    let path = question.value("file") ?? "/etc/passwd"
    guard path == "/etc/passwd" else { return membership(of: path, question) }
    let isLocal = question.account?.source == .files
    return granted(isLocal ? .success : .permissionDenied, question, "pam_localuser.so lets every local user through")
  }

  private static func membership(of path: String, _ question: PAM.ModuleQuestion) -> PAM.ModuleAnswer {
    guard let name = question.account?.name else { return .fixed(.permissionDenied) }
    do throws(System.Unreadable) {
      let text = try question.system.read(path).text
      let isListed = text.lines().contains { $0.hasPrefix("\(name):") }
      return granted(isListed ? .success : .permissionDenied, question, "pam_localuser.so file=\(path)")
    } catch {
      if error == .missing { return .fixed(.systemError) }
      return question.anything(question.unreadable(path, error))
    }
  }

  private static let usertype: Model = { question in
    let uid: UInt32
    if question.has("use_uid") {
      uid = question.call.callerUID
    } else {
      guard let account = question.account else {
        return .oneOf([.success, .authenticationError], Cause("membershipUnknown", observed: "uid cannot be asked"))
      }
      uid = account.uid
    }
    guard let wanted = question.arguments.last(where: { $0 == "issystem" || $0 == "isregular" }) else {
      return .fixed(.serviceError)
    }
    let isSystem = question.accounts.loginDefinitions.isSystem(uid)
    return granted(
      isSystem == (wanted == "issystem") ? .success : .authenticationError, question, "pam_usertype.so \(wanted)")
  }

  private static let shells: Model = { question in
    guard let shell = question.account?.shell else {
      return .oneOf([.success, .authenticationError], Cause("membershipUnknown", observed: "shell cannot be asked"))
    }
    let path = ["/etc/shells", "/usr/etc/shells"].first(where: question.system.exists) ?? "/etc/shells"
    do throws(System.Unreadable) {
      let file = try question.system.read(path)
      if file.isWritableByOthers { return .fixed(.authenticationError) }
      let listed = file.text.lines()
      let isListed = listed.contains { $0.elementsEqual(shell.isEmpty ? "/bin/sh" : shell) }
      return granted(isListed ? .success : .authenticationError, question, "pam_shells.so")
    } catch {
      return error == .missing
        ? .fixed(.authenticationError) : question.anything(question.unreadable(path, error))
    }
  }

  /// Says something, and is content with that.
  private static let echo: Model = { question in
    let file = question.value("file") ?? ""
    let isMissing = !file.isEmpty && ((try? question.system.status(file))?.size ?? 0) == 0
    return granted(
      isMissing || question.call.isSilent ? .ignore : .success, question, "pam_echo.so lets everybody through")
  }

  /// pam_cap: content with whoever has a line of capability.conf, whatever capabilities that gives.
  private static let capabilities: Model = { question in
    guard question.group == .auth else { return .fixed(.moduleUnknown) }
    if question.has("autoauth") { return granted(.success, question, "pam_cap.so autoauth") }
    let path = question.value("config") ?? "/etc/security/capability.conf"
    do throws(System.Unreadable) {
      let file = try question.system.read(path)
      if file.isWritableByOthers { return .fixed(.ignore) }
      let words = file.text.lines().map { $0.words() }
      let named = words.filter { $0.first?.hasPrefix("#") == false }.flatMap { $0.dropFirst() }
      guard let account = question.account else {
        return named.isEmpty ? .fixed(.ignore) : question.anything(Cause("membershipUnknown", observed: path))
      }
      let isNamed = named.contains { word in
        word == "*" || word == account.name || (word.hasPrefix("@") && account.isMember(of: String(word.dropFirst())))
      }
      return granted(isNamed ? .success : .ignore, question, "pam_cap.so: a line of \(path) is for \(account.name)")
    } catch {
      return error == .missing ? .fixed(.ignore) : question.anything(question.unreadable(path, error))
    }
  }

  /// Returns what its arguments say.
  private static let debug: Model = { question in
    let code = PAM.DebugModule.code(question.arguments, question.group)
    return granted(code, question, "pam_debug.so lets everybody through")
  }
}

extension PAM {
  /// pam_debug: the first argument for the group decides; a name that is no code is success.
  enum DebugModule {
    static func code(_ arguments: [String], _ group: Group) -> Code {
      let label = group == .auth ? "auth=" : "acct="
      guard let argument = arguments.first(where: { $0.hasPrefix(label) }) else { return .success }
      let name = argument.dropFirst(label.utf8.count)
      return Code.names.dropLast().firstIndex { $0.elementsEqual(name) }.map { Code(Int16($0)) } ?? .success
    }
  }
}

extension PAM {
  /// securetty(5): the terminals that root may use.
  struct SecureTerminals {
    private let file: Result<System.File, System.Unreadable>
    private let path: String

    init(_ system: System, _ path: String) {
      self.path = path
      file = Result { () throws(System.Unreadable) in try system.read(path) }
    }

    private func terminals(_ file: System.File) -> [String] {
      file.text.lines().filter { !$0.hasPrefix("#") }.map { String($0.prefix { !$0.isWhitespace }) }
    }

    /// Without a terminal named: the weakest of them.
    func answer(_ question: ModuleQuestion) -> ModuleAnswer {
      switch file {
      case .failure(let error): return question.anything(question.unreadable(path, error))
      case .success(let file):
        if file.isWritableByOthers { return .fixed(.authenticationError) }
        let terminals = terminals(file)
        guard let terminal = question.call.terminal else {
          return .fixed(terminals.isEmpty ? .authenticationError : .success)
        }
        let name = terminal.hasPrefix("/dev/") ? String(terminal.dropFirst(5)) : terminal
        let isAllowed = terminals.contains(name) || (!question.has("noconsole") && isConsole(name, question.system))
        return .fixed(isAllowed ? .success : .authenticationError)
      }
    }

    /// The kernel's own console, whatever the file says: `console=ttyS0,115200`.
    private func isConsole(_ name: String, _ system: System) -> Bool {
      let words = (system.text("/proc/cmdline") ?? "").split { $0 == " " || $0 == "\n" }
      return words.contains { $0.hasPrefix("console=") && $0.dropFirst(8).prefix { $0 != "," } == name }
    }

    /// Whether the terminal (nil: any) counts as secure; nil where that cannot be told.
    func isSecure(_ terminal: String?) -> Bool? {
      guard case .success(let file) = file else { return nil }
      let terminals = terminals(file)
      guard let terminal else { return !terminals.isEmpty }
      return terminals.contains(terminal.hasPrefix("/dev/") ? String(terminal.dropFirst(5)) : terminal)
    }
  }
}
