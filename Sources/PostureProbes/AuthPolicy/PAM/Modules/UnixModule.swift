import Posture

extension PAM {
  /// pam_unix: the password of passwd(5) and shadow(5), and its age.
  struct UnixModule {
    private let question: ModuleQuestion

    static let answer: ModuleModels.Model = { UnixModule(question: $0).answer() }

    private func answer() -> ModuleAnswer { question.group == .auth ? authenticate() : manageAccount() }

    // MARK: Options

    /// Options are compared by prefix: `nullokabc` counts.
    private func has(_ option: String) -> Bool { question.arguments.contains { $0.hasPrefix(option) } }

    /// Whether an account without a password gets in. One whose password has to be changed gets in by `nullresetok`,
    /// whatever the program asked for: the option takes PAM_DISALLOW_NULL_AUTHTOK back.
    private var acceptsEmpty: Bool? {
      if has("nullresetok"), let account = question.account, code(of: account) == .newTokenRequired { return true }
      return acceptsNull
    }

    /// `nullok` as far as the program allows it; nil where that cannot be told.
    private var acceptsNull: Bool? {
      if question.call.disallowsEmpty { return false }
      let words = question.arguments.filter { $0.hasPrefix("nullok") }
      if words.isEmpty { return false }
      guard isSecureOnly(words) else { return true }
      let path = "/etc/securetty"
      guard question.system.exists(path) else { return true }
      if question.call.isRemote { return false }
      return SecureTerminals(question.system, path).isSecure(question.call.terminal)
    }

    /// Debian before 1.4: `nullok_secure` held on the terminals of securetty(5) only.
    private func isSecureOnly(_ words: [String]) -> Bool {
      guard question.pam.dialect.hasAtInclude, let version = question.pam.version, version < Version(1, 4) else {
        return false
      }
      return words.allSatisfy { $0.hasPrefix("nullok_secure") }
    }

    // MARK: auth

    private func authenticate() -> ModuleAnswer {
      guard let account = question.account else { return directoryUser().asking(question) }
      if account.name.hasPrefix("-") || account.name.hasPrefix("+") { return .fixed(.userUnknown) }
      var answer = authenticate(account)
      // An account without a password gets in without a question.
      if account.password != .empty || acceptsEmpty != true { answer = answer.asking(question) }
      answer.isUnix = true
      if account.password != .set, account.password != .external {
        answer.because.append(Reason("password.\(account.password.rawValue)", account.place))
      }
      return answer
    }

    private func authenticate(_ account: Account) -> ModuleAnswer {
      // What has no "$" is compared with bigcrypt, which makes none of these.
      if account.scheme == "bsdicrypt" { return .fixed(.authenticationError) }
      switch account.password {
      case .set: return passcode
      case .locked, .unmatchable: return .fixed(.authenticationError)
      case .none: return .fixed(.authenticationUnavailable)
      case .external: return homedUser(account)
      case .empty: return accepting(acceptsEmpty, emptyGrant("emptyPassword", account))
      case .emptyHash: return accepting(acceptsEmptyHash, emptyGrant("emptyHash", account))
      case .unreadable: return unreadable(account)
      }
    }

    private var passcode: ModuleAnswer { .proof(of: FactorSet(.passcode), else: .authenticationError) }

    /// The password is the cause, whatever number of stacks accept it.
    private func emptyGrant(_ code: String, _ account: Account) -> Cause {
      Cause(
        code, observed: "password \(account.password.rawValue), and \(question.entry.module) accepts it",
        evidence: [account.place])
    }

    private func accepting(_ accepts: Bool?, _ grant: Cause) -> ModuleAnswer {
      switch accepts {
      case true?:
        ModuleAnswer(
          ways: [.init(needs: .none, codes: [.success]), .init(needs: .none, codes: [.authenticationError])],
          grant: grant)
      case false?: .fixed(.authenticationError)
      case nil:
        .oneOf(
          [.success, .authenticationError],
          Cause("pamVersionUnknown", observed: "whether an empty password will do depends on libpam's version"))
      }
    }

    /// Up to 1.5 such a hash was verified like any other; 1.6.0 refused it with nullok; since 1.6.1 nullok decides.
    private var acceptsEmptyHash: Bool? {
      guard let version = question.pam.version else { return acceptsNull == true ? true : nil }
      if version < Version(1, 6) { return true }
      if version == Version(1, 6, 0) { return acceptsNull == true ? false : nil }
      return acceptsNull
    }

    private func unreadable(_ account: Account) -> ModuleAnswer {
      let doubt = Cause(
        "unreadable", observed: "the password of \(account.name) cannot be told", evidence: [account.place])
      return ModuleAnswer(
        ways: [
          .init(needs: .none, codes: [.success, .authenticationError]),
          .init(needs: FactorSet(.passcode), codes: [.success, .authenticationError]),
        ], doubt: doubt)
    }

    /// Of NIS the hash comes with the row; from other directories a row comes without one that could be verified.
    private func directoryUser() -> ModuleAnswer {
      let sources = question.accounts.externalSources
      let hasNIS = sources.contains(where: Self.handingOut.contains)
      if hasNIS, sources.allSatisfy(Self.handingOut.contains) { return passcode }
      let failures: [Code] = [.authenticationError, .userUnknown, .authenticationUnavailable]
      return ModuleAnswer(
        ways: [.init(needs: .none, codes: failures)]
          + (hasNIS ? [.init(needs: FactorSet(.passcode), codes: [.success] + failures)] : []),
        doubt: Cause("externalAccount", observed: "whether pam_unix.so knows the directory's user cannot be asked"))
    }

    private static let handingOut: Set = ["nis", "nisplus"]

    /// nss-systemd hands the record's hash out to root, where shadow comes from there.
    private func homedUser(_ account: Account) -> ModuleAnswer {
      guard question.accounts.sources.shadow.contains("systemd") else { return .fixed(.authenticationUnavailable) }
      return ModuleAnswer(
        ways: [
          .init(needs: .none, codes: [.authenticationError]),
          .init(needs: FactorSet(.passcode), codes: [.success, .authenticationError]),
        ], doubt: Cause("externalAccount", observed: "\(account.name) is kept by systemd-homed"))
    }

    // MARK: account

    private func manageAccount() -> ModuleAnswer {
      guard let account = question.account else { return .fixed(.success) }
      let code = code(of: account)
      var answer = ModuleAnswer.fixed(code)
      if code == .authenticationUnavailable, has("broken_shadow") { return .fixed(.success) }
      // The age of a password that was not used is forgiven.
      if has("no_pass_expiry"), !question.cameByUnix, code == .newTokenRequired || code == .tokenExpired {
        return .fixed(.success)
      }
      if account.account == .expired || account.account == .passwordExpired || account.account == .mustChange {
        answer.because.append(Reason("account.\(account.account.rawValue)", account.place))
      }
      if account.password == .unreadable { return unreadableAge(account) }
      return answer
    }

    private func code(of account: Account) -> Code {
      if account.isUnshadowed { return .success }
      if account.hasNoShadowRow { return .authenticationUnavailable }
      switch ageing(of: account) {
      case .expired: return .accountExpired
      case .passwordExpired: return .tokenExpired
      case .mustChange: return .newTokenRequired
      case .none: return .success
      }
    }

    private func ageing(of account: Account) -> Account.Ageing {
      guard let age = account.age else { return account.ageing }
      let day = Int(question.system.now / 86_400)
      return question.pam.dialect.lines == .before16 ? age.stateBefore16(day: day) : age.state(day: day)
    }

    private func unreadableAge(_ account: Account) -> ModuleAnswer {
      .oneOf(
        [.success, .newTokenRequired, .accountExpired, .tokenExpired, .authenticationUnavailable],
        Cause("unreadable", observed: "the age of \(account.name)'s password cannot be told", evidence: [account.place])
      )
    }
  }
}
