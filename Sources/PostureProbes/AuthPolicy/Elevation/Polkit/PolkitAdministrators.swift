import Posture

/// Who counts as an administrator for polkit, and what they have to prove.
struct PolkitAdministrators: Sendable {
  private let context: AuthContext
  private let rules: PolkitRules
  private let authority: PolkitAuthority

  init(_ context: AuthContext, _ rules: PolkitRules, _ authority: PolkitAuthority) {
    self.context = context
    self.rules = rules
    self.authority = authority
  }

  func question(
    _ action: String, _ account: Account?, _ standing: PolkitActions.Standing
  ) -> PolkitEvaluator.Question {
    let accounts = context.accounts
    return PolkitEvaluator.Question(
      action: action, user: account?.name,
      isInGroup: { group in
        if let account { return account.isMember(of: group) }
        return accounts.hasGroup(group) ? false : nil
      },
      isInNetgroup: { group in account.flatMap { accounts.netgroups.contains(group, user: $0.name) } },
      groups: account.map { $0.groups.sorted() }, isLocal: standing != .any, isActive: standing == .active)
  }

  // MARK: Proof

  /// The person's own.
  func ownProof(of account: Account?) -> PAM.Outcome { proof(by: account, caller: account) }

  /// An administrator's: the person's own where they are one, else that of any other.
  func proof(of account: Account?, for action: String) -> (PAM.Outcome, Door.Holder?) {
    let (found, place) = identities(action, account)
    guard let identities = found else {
      return (
        PAM.Outcome(
          opening: nil, because: [Reason("polkit.administratorsUnknown", place)],
          cause: Cause("polkitRuleUnknown", observed: "who is an administrator", evidence: place.map { [$0] })), nil
      )
    }
    let reason = Reason("polkit.administrators", place)
    if account == nil, identities.contains(where: { isMeant($0, nil) == nil }) {
      return (PAM.Outcome(opening: nil, because: [reason, Reason("polkit.membershipUnknown")], cause: nil), nil)
    }
    let members = administrators(identities)
    if let account, members.contains(where: { $0.name == account.name }) {
      return (withOthers(ownProof(of: account), members, account).after([reason]), nil)
    }
    let outcome = members.reduce(PAM.Outcome.never) { $0.or(proof(by: $1, caller: account)) }
    return (outcome.after([reason]), members.allSatisfy(\.isRoot) ? .root : .target)
  }

  /// An administrator who has to prove nothing can be chosen by everybody.
  private func withOthers(_ own: PAM.Outcome, _ members: [Account], _ account: Account) -> PAM.Outcome {
    for member in members where member.name != account.name {
      let theirs = proof(by: member, caller: account)
      if own.opening == .never || theirs.opening?.answer == .notRequired { return own.or(theirs) }
    }
    return own
  }

  private func proof(by account: Account?, caller: Account?) -> PAM.Outcome {
    if ProofWithoutPAM.applies(to: context.system) {
      return ProofWithoutPAM.outcome(for: account, takesEmpty: false)
    }
    var call = PAM.Call("polkit-1")
    call.caller = caller?.name
    call.callerUID = caller?.uid ?? UInt32.max - 1
    return context.pam.outcome(of: call, for: account)
  }

  // MARK: Identities

  private func identities(_ action: String, _ account: Account?) -> ([String]?, Place?) {
    let (named, place) = rules.administrators(
      question(action, account, .active), authority: authority.administrators)
    guard let named else { return (nil, place) }
    if place != nil { return (named, place) }
    if authority.isAlone, let old = authority.administrators { return (old.identities, old.place) }
    return (["unix-user:0"], nil)
  }

  /// Accounts that are meant; root where nobody is.
  private func administrators(_ identities: [String]) -> [Account] {
    let accounts = context.accounts.all.filter { account in
      (!account.isRoot || identities.contains { $0.hasPrefix("unix-user:") })
        && identities.contains { isMeant($0, account) == true }
    }
    return accounts.isEmpty ? context.accounts.all.filter(\.isRoot) : accounts
  }

  /// Whether `unix-user:NAME`, `unix-group:NAME` or `*` means this person; nil where that cannot be told.
  func isMeant(_ identity: String, _ account: Account?) -> Bool? {
    if identity == "*" { return true }
    guard let colon = identity.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
    let name = String(identity[identity.utf8.index(after: colon)...])
    if name.isEmpty { return false }
    switch identity[..<colon] {
    case "unix-user":
      if name == "*" { return true }
      guard let account else { return context.accounts[name] == nil && UInt32(name) == nil ? nil : false }
      return account.name == name || UInt32(name) == account.uid
    case "unix-group":
      if let gid = UInt32(name) { return GroupNumbers.of(context.system).hasMember(account, gid) }
      guard let account else { return context.accounts.hasGroup(name) ? false : nil }
      return account.isMember(of: name)
    case "unix-netgroup", "unix-netgroup-name": return nil
    default: return false
    }
  }
}
