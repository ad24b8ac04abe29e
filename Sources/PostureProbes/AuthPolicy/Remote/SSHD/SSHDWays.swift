import Posture

/// The ways in that sshd has for one person under one set of values.
struct SSHDWays: Sendable {
  /// What one method comes to.
  private struct Way {
    /// nil: cannot be told.
    var opening: Opening?
    var because: [Reason] = []
    var cause: Cause?

    static func shut(_ reasons: [Reason]) -> Way { Way(opening: .never, because: reasons) }
  }

  private let context: AuthContext
  private let settings: SSHDSettings
  private let account: Account?
  private let connection: SSHDConnection
  private let file: String

  /// With `account` nil somebody from a directory is meant.
  init(
    _ context: AuthContext, _ settings: SSHDSettings, _ account: Account?, _ connection: SSHDConnection, file: String
  ) {
    self.context = context
    self.settings = settings
    self.account = account
    self.connection = connection
    self.file = file
  }

  /// All ways together.
  var outcome: PAM.Outcome {
    if let refusal { return PAM.Outcome(opening: .never, because: [refusal], cause: nil) }
    var result = settings.methods.isEmpty ? anyMethod : combinations
    if settings.isUndecided || isMembershipUnknown, result.opening?.answer != .notRequired {
      result.opening = nil
      result.because.append(Reason("sshd.matchUnknown", file: file))
    }
    return result
  }

  private func reason(_ code: String, _ keyword: String) -> Reason {
    Reason(code, settings.place(keyword) ?? Place(file))
  }

  // MARK: Whether at all

  /// Why this person does not get in by any way; nil where one may be open.
  private var refusal: Reason? {
    if isRoot, settings.root == .no { return reason("sshd.permitRootLogin", "permitrootlogin") }
    let name = account?.name ?? ""
    if settings.list("denyusers").contains(where: { SSHDPatterns.user($0, name, connection) }) {
      return reason("sshd.denyUsers", "denyusers")
    }
    let allowed = settings.list("allowusers")
    if !allowed.isEmpty, account != nil, !allowed.contains(where: { SSHDPatterns.user($0, name, connection) }) {
      return reason("sshd.allowUsers", "allowusers")
    }
    if let account, let refusal = groupRefusal(account.groups) { return refusal }
    if !settings.flag("usepam"), let account { return lockRefusal(account.seen(by: .anyRow)) }
    return nil
  }

  private func groupRefusal(_ groups: Set<String>) -> Reason? {
    func isIn(_ keyword: String) -> Bool {
      settings.list(keyword).contains { pattern in groups.contains { SSHDPatterns.text(pattern, $0) } }
    }
    if isIn("denygroups") { return reason("sshd.denyGroups", "denygroups") }
    if !settings.list("allowgroups").isEmpty, !isIn("allowgroups") { return reason("sshd.allowGroups", "allowgroups") }
    return nil
  }

  /// Without PAM sshd looks at shadow(5) itself: a field that starts with "!" and an expired account are refused.
  private func lockRefusal(_ account: Account) -> Reason? {
    if account.hash?.hasPrefix("!") ?? false { return Reason("sshd.locked", account.place) }
    let day = Int(context.system.now / 86_400)
    if account.age?.isOver(day: day) ?? (account.account == .expired) { return Reason("sshd.expired", account.place) }
    return nil
  }

  /// For somebody from a directory the lists of users and groups leave it open.
  private var isMembershipUnknown: Bool {
    account == nil
      && ["allowusers", "denyusers", "allowgroups", "denygroups"].contains { !settings.list($0).isEmpty }
  }

  private var isRoot: Bool { account?.isRoot ?? false }

  // MARK: Methods

  private static let known = ["publickey", "password", "keyboard-interactive", "hostbased", "gssapi-with-mic"]

  private var anyMethod: PAM.Outcome {
    let ways = Self.known.map(way)
    let result = ways.reduce(PAM.Outcome.never) {
      $0.or(PAM.Outcome(opening: $1.opening, because: $1.because, cause: $1.cause))
    }
    // Where all are shut, each of the reasons counts.
    return result.opening == .never ? .never.after(ways.flatMap(\.because)) : result
  }

  /// AuthenticationMethods: every method of one of the lists.
  private var combinations: PAM.Outcome {
    let place = reason("sshd.authenticationMethods", "authenticationmethods")
    var result = PAM.Outcome.never
    for list in settings.methods {
      let ways = list.map(way)
      let isShut = ways.contains { $0.opening == .never }
      let opening =
        isShut
        ? Opening.never
        : ways.reduce(Opening.always as Opening?) { all, way in
          guard let all, let one = way.opening else { return nil }
          return all.and(one)
        }
      let because = ways.flatMap(\.because)
      result = result.or(PAM.Outcome(opening: opening, because: because, cause: ways.compactMap(\.cause).first))
      if result.opening == .never { result.because += because }
    }
    return result.after([place])
  }

  private func way(_ method: String) -> Way {
    switch method {
    case "publickey": key
    case "password": password
    case "keyboard-interactive": dialogue
    case "gssapi-with-mic": ticket
    case "hostbased": host
    case "none": nothing
    // A device of another system, BSD's own say: nothing ever succeeds by it.
    case _ where method.contains(":"): .shut([reason("sshd.methodWithoutDevice", "authenticationmethods")])
    default: Way(opening: nil, because: [reason("sshd.methodUnknown", "authenticationmethods")])
    }
  }

  // MARK: Password

  private var password: Way {
    guard settings.flag("passwordauthentication") else {
      return .shut([reason("sshd.passwordAuthentication", "passwordauthentication")])
    }
    if isRoot, settings.root != .yes { return .shut([reason("sshd.permitRootLogin", "permitrootlogin")]) }
    guard settings.flag("usepam") else { return withoutPAM }
    // The one answer that this method takes is given to every question: it is a password and no code.
    let way = pam(account: typable)
    guard let opening = way.opening else { return way }
    let taken = opening.sets.filter { $0.isSubset(of: FactorSet(.passcode)) }
    return Way(opening: Opening(taken), because: way.because, cause: way.cause)
  }

  /// "none" asks nothing and tries an empty password, where that is allowed.
  private var nothing: Way {
    guard allowsEmpty else { return .shut([reason("sshd.emptyRefused", "permitemptypasswords")]) }
    let way = password
    guard let opening = way.opening else { return way }
    return opening.answer == .notRequired
      ? Way(opening: .always, because: way.because, cause: way.cause) : .shut(way.because)
  }

  /// sshd refuses an empty answer itself, so that a hash of "" matches nothing that can be sent.
  private var typable: Account? {
    guard var account, account.password == .emptyHash, !allowsEmpty else { return account }
    account.password = .locked
    account.hash = "!"
    return account
  }

  private var allowsEmpty: Bool { settings.flag("permitemptypasswords") }

  private var withoutPAM: Way {
    let account = account?.seen(by: .anyRow)
    if account?.password == .emptyHash, !allowsEmpty {
      return .shut([reason("sshd.emptyRefused", "permitemptypasswords")])
    }
    let outcome = ProofWithoutPAM.outcome(for: account, by: .anyRow, takesEmpty: allowsEmpty)
    return Way(opening: outcome.opening, because: outcome.because, cause: outcome.cause)
  }

  /// keyboard-interactive: whatever PAM asks.
  private var dialogue: Way {
    guard settings.flag("kbdinteractiveauthentication"), settings.flag("usepam") else {
      return .shut([reason("sshd.kbdInteractiveAuthentication", "kbdinteractiveauthentication")])
    }
    if isRoot, settings.root != .yes { return .shut([reason("sshd.permitRootLogin", "permitrootlogin")]) }
    return pam(account: account)
  }

  private func pam(account: Account?) -> Way {
    var call = PAM.Call("sshd")
    call.disallowsEmpty = !allowsEmpty
    call.isRemote = true
    call.terminal = "ssh"
    let outcome = context.pam.outcome(of: call, for: account)
    return Way(opening: outcome.opening, because: outcome.because, cause: outcome.cause)
  }

  // MARK: Keys

  private var key: Way {
    guard settings.flag("pubkeyauthentication") else {
      return .shut([reason("sshd.pubkeyAuthentication", "pubkeyauthentication")])
    }
    // Without its list of revoked keys sshd takes every key for revoked.
    if let list = settings.optional("revokedkeys"), !context.system.exists(list) {
      return .shut([reason("sshd.revokedKeysMissing", "revokedkeys")])
    }
    let found = keyReason
    guard let reasons = found.reasons else {
      return found.isUnknown
        ? Way(opening: nil, because: [Reason("sshd.keysUnreadable", file: file)])
        : .shut([reason("sshd.noKey", "authorizedkeysfile")])
    }
    let key = Opening([.token])
    guard settings.flag("usepam") else { return Way(opening: key, because: reasons) }
    var call = PAM.Call("sshd")
    call.skipsAuthentication = true
    call.isRemote = true
    call.terminal = "ssh"
    let account = context.pam.outcome(of: call, for: account)
    return Way(
      opening: account.opening.map { key.and($0) }, because: reasons + account.because,
      cause: account.opening == nil ? account.cause : nil)
  }

  /// Where a key or a certificate comes from that lets this person in.
  private var keyReason: (reasons: [Reason]?, isUnknown: Bool) {
    // Without a user to run it as sshd does not even start.
    let users = ["authorizedkeyscommanduser", "authorizedkeyscommandrunas"]
    if settings.optional("authorizedkeyscommand") != nil, users.contains(where: { settings.optional($0) != nil }) {
      return ([reason("sshd.authorizedKeysCommand", "authorizedkeyscommand")], false)
    }
    if let authority = certificateReason { return (authority, false) }
    guard let account else { return (nil, !settings.keyFiles.isEmpty) }
    let keys = AuthorizedKeys(
      context.system, account, isStrict: settings.flag("strictmodes"), algorithms: settings.algorithms)
    let (content, isUnknown) = keys.content(settings.keyFiles.map(keys.path))
    let needsCommand = isRoot && settings.root == .commandsOnly
    if needsCommand { return (content.forced.map { [Reason("sshd.authorizedKey", $0)] }, isUnknown) }
    let place = content.key ?? content.authority
    return (place.map { [Reason("sshd.authorizedKey", $0)] }, isUnknown)
  }

  /// A certificate for the person's name, or for one of the names that a file or command lists.
  private var certificateReason: [Reason]? {
    guard let path = settings.optional("trustedusercakeys"), let text = context.system.text(path),
      text.lines().contains(where: {
        AuthorizedKeys.Entry($0).map { settings.algorithms.accept($0.type) } ?? false
      }),
      !(isRoot && settings.root == .commandsOnly)
    else { return nil }
    let reasons = [reason("sshd.trustedUserCAKeys", "trustedusercakeys"), Reason("sshd.authority", file: path)]
    if settings.optional("authorizedprincipalscommand") != nil { return reasons }
    guard let pattern = settings.optional("authorizedprincipalsfile"), let account else { return reasons }
    let principals = AuthorizedKeys(context.system, account, isStrict: false).path(pattern)
    let names = (context.system.text(principals) ?? "").lines().map(\.trimmed)
    return names.contains { !$0.isEmpty && !$0.hasPrefix("#") } ? reasons : nil
  }

  // MARK: Others

  /// Kerberos decides only with a key of this host.
  private var ticket: Way {
    let isOn = settings.flag("gssapiauthentication") || settings.flag("kerberosauthentication")
    guard isOn, context.system.exists("/etc/krb5.keytab") else { return .shut([]) }
    if isRoot, settings.root == .commandsOnly { return .shut([]) }
    let reason = reason(
      "sshd.gssapi", settings.flag("gssapiauthentication") ? "gssapiauthentication" : "kerberosauthentication")
    return Way(
      opening: nil, because: [reason],
      cause: Cause(
        "sshdOtherMethod", observed: "Kerberos decides, which is not asked", evidence: reason.place.map { [$0] }))
  }

  /// Another host vouches for its users: only where hosts are listed.
  private var host: Way {
    guard settings.flag("hostbasedauthentication"), !(isRoot && settings.root == .commandsOnly) else {
      return .shut([])
    }
    let global = ["/etc/ssh/shosts.equiv", "/etc/hosts.equiv"]
    let own =
      settings.flag("ignorerhosts")
      ? []
      : [".shosts", ".rhosts"].compactMap { name in
        account.map { "\($0.home)/\(name)" }
      }
    guard let file = (isRoot ? own : global + own).first(where: { context.system.exists($0) }) else { return .shut([]) }
    return Way(
      opening: nil, because: [reason("sshd.hostbased", "hostbasedauthentication"), Reason("sshd.hosts", file: file)],
      cause: Cause("sshdOtherMethod", observed: "other hosts vouch for their users", evidence: [Place(file)]))
  }
}
