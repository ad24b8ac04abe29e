import Posture
import PosturePlatform

extension PAM.ModuleModels {
  /// Modules that ask a person for a proof.
  static let proofs: [String: Model] = [
    "unix": PAM.UnixModule.answer, "unix_auth": PAM.UnixModule.answer, "unix_acct": PAM.UnixModule.answer,
    "unix_ng": PAM.UnixModule.answer, "tcb": PAM.UnixModule.answer, "extrausers": extrausers,
    "fprintd": fprintd, "fprint": fprintd, "howdy": face,
    "u2f": PAM.SecurityKeyModule.answer, "google_authenticator": oneTimeCode,
    "sss": directory("sss"), "ldap": directory("ldap"), "winbind": directory("winbind"), "krb5": kerberos,
    "lsass": directory("lsass"), "systemd_home": systemdHome, "pkcs11": smartCard, "p11": smartCard,
    "poldi": smartCard,
  ]

  /// pam_unix over a second pair of files (Ubuntu), which knows nobody else.
  private static let extrausers: Model = { question in
    guard let account = question.account else { return .fixed(.userUnknown) }
    if account.source == .extrausers { return PAM.UnixModule.answer(question) }
    let path = "/var/lib/extrausers/passwd"
    guard (question.system.text(path) ?? "").lines().contains(where: { $0.hasPrefix("\(account.name):") }) else {
      return PAM.ModuleAnswer.fixed(.userUnknown).asking(question)
    }
    return question.anything(
      Cause("conditionUnknown", observed: "\(account.name) has a second row in \(path)", evidence: [Place(path)]))
  }

  /// May ask for the password in one go with the code, and leave it to others.
  private static let oneTimeCode: Model = { question in
    var answer = PAM.OneTimeCodeModule.answer(question)
    answer.asksPassword = question.group == .auth && question.has("forward_pass")
    return answer
  }

  /// A finger, for whom prints are stored; never from afar.
  private static let fprintd: Model = { question in
    guard question.group == .auth else { return .fixed(.moduleUnknown) }
    guard !question.call.isRemote, let account = question.account else { return .fixed(.authenticationUnavailable) }
    switch Fingerprints(question.system).prints(of: account.name) {
    case .none: return .fixed(.authenticationUnavailable)
    case .some(let place):
      var answer = PAM.ModuleAnswer.proof(
        of: FactorSet(.biometric), else: .authenticationUnavailable, .authenticationError, .maximalTries)
      answer.because = [Reason("fprint.enrolled", place)]
      return answer
    case .unreadable(let cause):
      return PAM.ModuleAnswer(
        ways: [
          .init(needs: .none, codes: [.authenticationUnavailable]),
          .init(needs: FactorSet(.biometric), codes: [.success, .authenticationUnavailable]),
        ], doubt: cause)
    }
  }

  /// Howdy keeps a model of each face.
  private static let face: Model = { question in
    guard question.group == .auth else { return .fixed(.success) }
    guard let account = question.account, !question.call.isRemote else { return .fixed(.authenticationUnavailable) }
    let folders = ["/etc/howdy/models", "/lib/security/howdy/models", "/usr/lib/security/howdy/models"]
    guard let path = folders.map({ "\($0)/\(account.name).dat" }).first(where: question.system.exists) else {
      return .fixed(.authenticationUnavailable)
    }
    var answer = PAM.ModuleAnswer.proof(
      of: FactorSet(.biometric), else: .authenticationUnavailable, .authenticationError)
    answer.because = [Reason("howdy.enrolled", file: path)]
    return answer
  }

  /// The password of a directory; a local account is not known there.
  private static func directory(_ source: String) -> Model {
    { question in
      guard question.account == nil else { return localAccount(question, source).asking(question) }
      if question.group == .account {
        return .oneOf(
          [.success, .permissionDenied],
          Cause("externalAccount", observed: "\(source) decides who may log in, and cannot be asked"))
      }
      return PAM.ModuleAnswer(
        ways: [
          .init(needs: .none, codes: [.authenticationError]), .init(needs: FactorSet(.passcode), codes: [.success]),
        ]
      ).asking(question)
    }
  }

  /// A principal may have the name of a local account. Who did not come in by it is none of its business later.
  private static let kerberos: Model = { question in
    guard question.group == .auth else { return .fixed(.ignore) }
    if isBelowMinimum(question) || (question.has("ignore_root") && question.account?.name == "root") {
      // There are two modules of this name, and each has its own word for it.
      return .oneOf([.userUnknown, .ignore], Cause("conditionUnknown", observed: "pam_krb5.so minimum_uid"))
    }
    return PAM.ModuleAnswer(
      ways: [
        .init(needs: .none, codes: [.authenticationError]),
        .init(needs: FactorSet(.passcode), codes: [.success, .authenticationError]),
      ], doubt: Cause("externalAccount", observed: "the Kerberos realm cannot be asked")
    ).asking(question)
  }

  /// Left to other modules by `minimum_uid=`.
  private static func isBelowMinimum(_ question: PAM.ModuleQuestion) -> Bool {
    guard let account = question.account, let least = question.value("minimum_uid").flatMap(UInt32.init) else {
      return false
    }
    return account.uid < least
  }

  private static func localAccount(_ question: PAM.ModuleQuestion, _ source: String) -> PAM.ModuleAnswer {
    if question.has("ignore_unknown_user") { return .fixed(.ignore) }
    if source == "ldap", isBelowMinimum(question) { return .fixed(.userUnknown) }
    if question.has("ignore_authinfo_unavail"), !isConfigured(question.system) { return .fixed(.ignore) }
    return PAM.ModuleAnswer(
      ways: [.init(needs: .none, codes: [isConfigured(question.system) ? .userUnknown : .authenticationUnavailable])])
  }

  private static func isConfigured(_ system: System) -> Bool {
    NameSources.hasSSSD(system) || ["/etc/nslcd.conf", "/etc/samba/smb.conf"].contains(where: system.exists)
  }

  /// systemd-homed: the passphrase of the home. A record that is not homed's is unknown to it.
  private static let systemdHome: Model = { question in
    guard let account = question.account, account.source == .homed else { return .fixed(.userUnknown) }
    if account.account == .expired { return .fixed(.accountExpired) }
    guard question.group == .auth else { return .fixed(.success) }
    return PAM.ModuleAnswer(
      ways: [.init(needs: .none, codes: [.authenticationError])]
        + account.homed.sets.map { .init(needs: $0, codes: [.success]) }
    ).asking(question)
  }

  /// A card and its PIN; who has one cannot be seen here.
  private static let smartCard: Model = { question in
    guard question.group == .auth else { return .fixed(.success) }
    return PAM.ModuleAnswer(
      ways: [
        .init(needs: .none, codes: [.authenticationUnavailable]), .init(needs: .none, codes: [.authenticationError]),
        .init(needs: FactorSet(.token), codes: [.success, .authenticationError]),
      ], doubt: Cause("membershipUnknown", observed: "who has a smart card cannot be told")
    ).asking(question)
  }
}
