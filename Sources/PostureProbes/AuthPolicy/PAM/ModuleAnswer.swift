import Posture

extension PAM {
  /// What a module of a stack may return, for one account and call.
  struct ModuleAnswer: Sendable {
    /// Shown `needs`, the module returns one of `codes`; more than one where the system is not known well enough.
    struct Way: Hashable, Sendable {
      var needs: FactorSet
      var codes: [Code]
    }

    var ways: [Way]
    /// For `because`, in place of the module's name.
    var name: String?
    /// Further evidence: a mapping, a lock file.
    var because: [Reason] = []
    /// The root cause where this module lets somebody through without a proof.
    var grant: Cause?
    /// Why it cannot be told what it returns.
    var doubt: Cause?
    /// It asks for a password where none was asked for before, and leaves it to those that follow.
    var asksPassword = false
    /// It takes the password that another has asked for, and asks for none itself.
    var takesFirstPassword = false
    /// It is pam_unix, and tells its account function how it went.
    var isUnix = false

    var factors: FactorSet { ways.reduce(FactorSet.none) { $0.union($1.needs) } }

    func choices(with factors: FactorSet, _ handle: Handle) -> Evaluator.Choices {
      if takesFirstPassword, !handle.hasPassword { return [[.authenticationError]] }
      return ways.filter { $0.needs.isSubset(of: factors) }.map(\.codes)
    }

    func leave(_ code: Code, _ handle: inout Handle) {
      if asksPassword { handle.hasPassword = true }
      if isUnix { handle.cameByUnix = code == .success }
    }

    /// The answer of a module that asks for a password, unless its line forbids that.
    func asking(_ question: ModuleQuestion) -> ModuleAnswer {
      guard question.group == .auth else { return self }
      var answer = self
      answer.asksPassword = !question.has("use_first_pass")
      answer.takesFirstPassword = !answer.asksPassword && ways.contains { $0.codes.contains(.success) }
      return answer
    }

    /// The same code whatever anybody does.
    static func fixed(_ code: Code, grant: Cause? = nil) -> ModuleAnswer {
      ModuleAnswer(ways: [Way(needs: .none, codes: [code])], grant: grant)
    }

    /// `success` for whoever shows the factors, one of `failures` else, as the person likes.
    static func proof(of factors: FactorSet, else failures: Code...) -> ModuleAnswer {
      ModuleAnswer(
        ways: failures.map { Way(needs: .none, codes: [$0]) } + [Way(needs: factors, codes: [.success])])
    }

    /// One of `codes`; which one cannot be told.
    static func oneOf(_ codes: [Code], _ doubt: Cause) -> ModuleAnswer {
      ModuleAnswer(ways: [Way(needs: .none, codes: codes)], doubt: doubt)
    }
  }

  /// What is asked of a model: this line, of this account, in this call.
  struct ModuleQuestion: Sendable {
    let pam: PAM
    let call: Call
    /// nil: somebody whom a directory knows.
    let account: Account?
    let group: Group
    var entry: Entry
    /// In the account phase: pam_unix was the one that let the user in.
    var cameByUnix = false

    var system: System { pam.system }
    var accounts: Accounts { pam.accounts }
    var arguments: [String] { entry.arguments }

    func has(_ argument: String) -> Bool { arguments.contains(argument) }

    /// What follows `name=`, of the last such argument.
    func value(_ name: String) -> String? {
      arguments.last { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
    }

    /// Any code that makes a difference to this entry, where nothing is known of the module.
    func anything(_ cause: Cause) -> ModuleAnswer {
      var seen = Set<String>()
      let codes = Code.all.filter { code in
        // A token to renew is a matter of the account phase.
        guard code != .incomplete, group == .account || code != .newTokenRequired else { return false }
        let kind = [.success, .newTokenRequired].contains(code) ? "\(code.number)" : "failure"
        return seen.insert("\(entry.control[code])\(kind)").inserted
      }
      return .oneOf(codes, cause)
    }

    func unreadable(_ path: String, _ reason: System.Unreadable) -> Cause {
      Cause("unreadable", observed: "\(path) \(reason.words)", evidence: [Place(path)])
    }
  }
}
