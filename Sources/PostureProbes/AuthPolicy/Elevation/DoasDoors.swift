import Posture

/// `doas`, `doas:<command>`.
struct DoasDoors {
  static func look(_ context: AuthContext) -> ProbeResult {
    guard Programs.has("doas", context.system) else { return ProbeResult() }
    var doors = DoasDoors(context)
    doors.look()
    return doors.result
  }

  private let context: AuthContext
  private let rules: [DoasConfiguration.Rule]
  private let refusal: DoasConfiguration.Refusal?
  private let main: String
  private var result = ProbeResult()

  private init(_ context: AuthContext) {
    self.context = context
    let files = Self.files(context)
    main = files.first ?? "/etc/doas.conf"
    do throws(DoasConfiguration.Refusal) {
      rules = try DoasConfiguration(files, on: context.system).rules
      refusal = nil
    } catch {
      rules = []
      refusal = error
    }
  }

  /// Alpine's package reads a directory after the main file.
  private static func files(_ context: AuthContext) -> [String] {
    let main = ["/etc/doas.conf", "/usr/local/etc/doas.conf"].first { context.system.exists($0) } ?? "/etc/doas.conf"
    guard context.distribution.id == "alpine" || context.distribution.like.contains("alpine") else { return [main] }
    let names = (try? context.system.list("/etc/doas.d")) ?? []
    return [main] + names.filter { $0.ends(with: ".conf") }.map { "/etc/doas.d/\($0)" }
  }

  private mutating func look() {
    for account in context.accounts.people { addRows(account.name, account) }
    for source in context.accounts.externalSources { addRows("external:\(source)", nil) }
    for account in context.accounts.services { addServiceRow(account) }
    if let refusal, refusal.code != "unreadable" {
      result.remarks.append(
        Remark(Cause(refusal.code, observed: refusal.observed, evidence: [refusal.place]), check: .elevation))
    }
    noteStrangers()
  }

  // MARK: Rows

  private mutating func addRows(_ subject: String, _ account: Account?) {
    let whole = row("doas", nil, subject, account)
    result.doors.append(whole)
    guard whole.answer != .notRequired else { return }
    var seen = Set<String>()
    for rule in rules where rule.allowsRoot && matches(rule, account) != false {
      guard let command = rule.commandLine, seen.insert(command).inserted else { continue }
      var one = row("doas:\(command)", rule, subject, account)
      guard one.opening != whole.opening else { continue }
      one.counts = CommandPower.isRoot(Self.judged(rule, command), for: account, context.system)
      if one.answer == .notRequired, one.cause?.code == "doasNoPassword" {
        one.cause?.code = one.counts ? "sudoCommandIsRoot" : "sudoCommandNoPassword"
      }
      result.doors.append(one)
    }
  }

  /// `args` with nothing behind it is what sudoers writes as two quotes.
  private static func judged(_ rule: DoasConfiguration.Rule, _ command: String) -> String {
    let path = command.hasPrefix("/") ? command : "/usr/bin/" + command
    return rule.arguments?.isEmpty == true ? path + " \"\"" : path
  }

  private mutating func addServiceRow(_ account: Account) {
    guard !account.isRoot, rules.contains(where: { matches($0, account) == true }) else { return }
    var door = row("doas", nil, account.name, account)
    guard door.answer != .closed else { return }
    door.counts = false
    if door.cause?.code == "doasNoPassword" { door.cause?.code = "sudoServiceNoPassword" }
    result.doors.append(door)
  }

  private func row(_ name: String, _ wanted: DoasConfiguration.Rule?, _ subject: String, _ account: Account?) -> Door {
    if let refusal {
      let isUnknown = refusal.code == "unreadable"
      return Door(
        name, .elevation, subject, isUnknown ? nil : .never, because: [Reason("doas.\(refusal.code)", refusal.place)],
        cause: isUnknown ? Cause("unreadable", observed: refusal.observed, evidence: [refusal.place]) : nil)
    }
    let found = rules.filter { $0.allowsRoot && Self.covers($0, wanted) && matches($0, account) != false }
    guard let rule = found.last, rule.isPermit else {
      let place = found.last?.place ?? Place(main)
      return Door(
        name, .elevation, subject, .never, because: [Reason(found.isEmpty ? "doas.noRule" : "doas.denied", place)])
    }
    let reason = Reason(rule.asksPassword ? "doas.rule" : "doas.nopass", rule.place)
    guard matches(rule, account) == true else {
      return Door(
        name, .elevation, subject, nil, because: [reason, Reason("doas.membershipUnknown")],
        cause: Cause("unknownDoor", observed: rule.text, evidence: [rule.place]))
    }
    let outcome = proof(rule, account).after([reason])
    var door = Door(name, .elevation, subject, outcome.opening, because: outcome.because, cause: outcome.cause)
    if !rule.asksPassword, door.answer == .notRequired {
      door.cause = Cause("doasNoPassword", observed: rule.text, evidence: [rule.place])
    }
    return door
  }

  /// With `wanted` nil any command is meant, which only a rule without command allows.
  private static func covers(_ rule: DoasConfiguration.Rule, _ wanted: DoasConfiguration.Rule?) -> Bool {
    guard let command = rule.command else { return true }
    guard let wanted, command == wanted.command else { return false }
    return rule.arguments == nil || rule.arguments == wanted.arguments
  }

  /// nil: somebody from a directory may be a member.
  private func matches(_ rule: DoasConfiguration.Rule, _ account: Account?) -> Bool? {
    if rule.identity.hasPrefix(":") {
      let group = String(rule.identity.dropFirst())
      // A name counts before a number.
      if !context.accounts.hasGroup(group), let gid = UInt32(group) {
        return GroupNumbers.of(context.system).hasMember(account, gid)
      }
      if let account { return account.isMember(of: group) }
      return context.accounts.hasGroup(group) ? false : nil
    }
    guard let account else { return context.accounts[rule.identity] == nil && UInt32(rule.identity) == nil }
    return rule.identity == account.name || UInt32(rule.identity) == account.uid
  }

  private func proof(_ rule: DoasConfiguration.Rule, _ account: Account?) -> PAM.Outcome {
    guard context.pam.hasService("doas"), !ProofWithoutPAM.applies(to: context.system) else {
      // crypt(3) of an empty field gives nothing that could match.
      return rule.asksPassword
        ? ProofWithoutPAM.outcome(for: account, takesEmpty: false)
        : PAM.Outcome(opening: .always, because: [], cause: nil)
    }
    var call = PAM.Call("doas")
    call.caller = account?.name
    call.callerUID = account?.uid ?? UInt32.max - 1
    call.skipsAuthentication = !rule.asksPassword
    return context.pam.outcome(of: call, for: account)
  }

  private mutating func noteStrangers() {
    guard context.accounts.externalSources.isEmpty else { return }
    for rule in rules where rule.isPermit && !rule.identity.hasPrefix(":") {
      guard context.accounts[rule.identity] == nil, UInt32(rule.identity) == nil else { continue }
      result.remarks.append(
        Remark(
          Cause("doasUnknownUser", observed: rule.text, evidence: [rule.place]), check: .elevation,
          subject: rule.identity, door: "doas"))
    }
  }
}
