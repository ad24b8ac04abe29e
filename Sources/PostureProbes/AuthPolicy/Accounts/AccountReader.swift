import Posture
import PosturePlatform

/// Puts the account databases of a system together.
struct AccountReader {
  private let system: System
  let sources: NameSources
  let definitions: LoginDefinitions
  private(set) var accounts: [Account] = []
  private(set) var groups = GroupTable()
  private(set) var result = ProbeResult()
  private var known: Set<String> = []
  /// In the order in which a row is looked for.
  private var shadows: [ShadowTable] = []

  /// What falls with the account databases.
  private static let checks: [CheckName] = [
    .passcode, .ownerAuthentication, .remoteEntry, .elevation, .screenLock,
  ]

  init(_ system: System) {
    self.system = system
    sources = NameSources(system)
    definitions = LoginDefinitions(system)
    readGroups()
    readShadows()
    if sources.usesFiles { readTable("/etc/passwd", .files, isRequired: true) }
    if sources.passwd.contains("altfiles") { readTable("/usr/lib/passwd", .altfiles, isRequired: false) }
    if sources.passwd.contains("extrausers") {
      readTable("/var/lib/extrausers/passwd", .extrausers, isRequired: false)
    }
    if sources.passwd.contains("systemd") { readRecords() }
    if sources.external.contains("sss") { lookForSSSD() }
  }

  /// Who comes from a directory that may be configured cannot be told.
  private mutating func lookForSSSD() {
    do throws(System.Unreadable) { _ = try NameSources.configuresSSSD(system) } catch {
      gap("/etc/sssd", error, Self.checks)
    }
  }

  /// Without a configuration of sssd nobody comes from there.
  var externalSources: [String] {
    let compat = sources.usesCompat && hasCompatRow ? sources.externalCompat : []
    let all = sources.external + compat.filter { !sources.external.contains($0) }
    return all.filter { $0 != "sss" || NameSources.hasSSSD(system) }
  }

  private var hasCompatRow = false

  // MARK: Files

  private mutating func readGroups() {
    for (source, path) in [
      ("files", "/etc/group"), ("altfiles", "/usr/lib/group"), ("extrausers", "/var/lib/extrausers/group"),
    ] where source == "files" || sources.group.contains(source) { groups.add(system, path) }
    if sources.group.contains("systemd") { groups.addRecords(system) }
    if let failure = groups.failure { gap("/etc/group", failure, [.ownerAuthentication, .elevation]) }
  }

  /// Whatever file an account stands in, its password is looked for in all of these.
  private mutating func readShadows() {
    for source in sources.shadow {
      switch source {
      case "files", "compat", "db": readShadow("/etc/shadow")
      case "extrausers": readShadow("/var/lib/extrausers/shadow")
      case "tcb": ownFiles = shadows.count
      default: break
      }
    }
  }

  /// tcb(5): a row for each account in a file that is its own, looked for after so many tables.
  private var ownFiles: Int?

  /// Where the row of an account is looked for.
  private mutating func shadows(of name: String, _ uid: UInt32) -> [ShadowTable] {
    guard let ownFiles, !name.contains("/") else { return shadows }
    let path = "/etc/tcb/\(name)/shadow"
    let own = ShadowTable(system, path, ownedBy: uid)
    if let failure = own.failure { gap(path, failure, [.passcode]) }
    return shadows[..<ownFiles] + [own] + shadows[ownFiles...]
  }

  private mutating func readShadow(_ path: String) {
    let shadow = ShadowTable(system, path)
    if let failure = shadow.failure { gap(path, failure, [.passcode]) }
    shadows.append(shadow)
  }

  private mutating func readTable(_ path: String, _ source: Account.Source, isRequired: Bool) {
    let table: ColonTable
    do throws(System.Unreadable) { table = try ColonTable(system, path) } catch {
      if isRequired || error != .missing { gap(path, error, Self.checks) }
      return
    }
    var excluded: Set<String> = []
    for row in table.rows {
      if let sign = row.fields[0].first, sign == "+" || sign == "-" {
        note(compat: row.fields[0], &excluded)
        continue
      }
      // What stands behind the group's number may be missing.
      guard row.fields.count >= 4, !excluded.contains(row.fields[0]) else { continue }
      add(row, path, source)
    }
  }

  /// `+` rows of compat bring people of NIS in, `-name` keeps one out that comes later.
  private mutating func note(compat name: String, _ excluded: inout Set<String>) {
    guard sources.usesCompat else { return }
    if name.hasPrefix("+") { hasCompatRow = true } else { excluded.insert(String(name.dropFirst())) }
  }

  private mutating func add(_ row: ColonTable.Row, _ path: String, _ source: Account.Source) {
    let fields = row.fields
    guard !fields[0].isEmpty, let uid = CNumber.unsigned(fields[2]), let gid = CNumber.unsigned(fields[3]),
      known.insert(fields[0]).inserted
    else { return }
    let home = fields.count > 5 ? fields[5] : ""
    let shell = fields.dropFirst(6).joined(separator: ":")
    let shadows = shadows(of: fields[0], uid)
    let secret = Secret(fields, shadows, Place(path, line: row.line))
    let other = secret.isUnshadowed ? Secret([fields[0], "x"], shadows, secret.place) : nil
    if secret.isTooCostly {
      let cause = Cause(
        "hashTooCostly", observed: "\(fields[0]): the hash asks for more rounds than are tried",
        evidence: [secret.place])
      result.remarks.append(Remark(cause, check: .passcode, subject: fields[0]))
    }
    let ageing = secret.age?.state(day: Int(system.now / 86_400)) ?? .none
    accounts.append(
      Account(
        name: fields[0], uid: uid, gid: gid, home: home, shell: shell, kind: kind(uid, shell),
        password: secret.field.password, scheme: secret.field.scheme,
        account: Accounts.state(ageing, shell), hash: secret.hash, isUnshadowed: secret.isUnshadowed,
        hasNoShadowRow: secret.hasNoShadowRow, field: fields[1],
        shadowRow: other?.hasNoShadowRow == false ? other : nil,
        groups: groups.groups(of: fields[0], primary: gid), place: secret.place, source: source, ageing: ageing,
        age: secret.age))
  }

  private func kind(_ uid: UInt32, _ shell: String) -> Subject.Kind {
    if uid == 0 { return .root }
    return definitions.isRegular(uid) && LoginShell.admits(shell) ? .owner : .service
  }

  /// Where the password of a row is, and what it is.
  struct Secret: Sendable {
    var field: PasswordField
    var hash: String?
    var age: PasswordAge?
    var place: Place
    var isUnshadowed = false
    var hasNoShadowRow = false

    var isTooCostly: Bool { field.isTooCostly }

    fileprivate init(_ fields: [String], _ shadows: [ShadowTable], _ place: Place) {
      self.place = place
      guard fields[1] == "x" || fields[1] == "##\(fields[0])" else {
        isUnshadowed = true
        hash = fields[1]
        field = PasswordField(fields[1])
        return
      }
      // One that cannot be read may hold the row that counts.
      let shadow = shadows.first { $0.failure != nil || $0[fields[0]] != nil }
      if let row = shadow?[fields[0]] {
        hash = row.hash
        field = PasswordField(row.hash)
        age = row.age
        self.place = row.place
      } else if let shadow {
        field = PasswordField(.unreadable)
        self.place = Place(shadow.path)
      } else {
        field = PasswordField(.none)
        hasNoShadowRow = true
      }
    }
  }

  // MARK: Records

  private mutating func readRecords() {
    let records = UserRecords(system)
    for record in records.records where !known.contains(record.name) {
      guard let account = record.account(now: system.now, groups: groups.groups) else { continue }
      known.insert(account.name)
      accounts.append(account)
    }
    for failure in records.failures { gap(failure.path, failure.reason, Self.checks) }
  }

  private mutating func gap(_ path: String, _ reason: System.Unreadable, _ checks: [CheckName]) {
    let cause = Cause("unreadable", observed: "\(path) \(reason.words)", evidence: [Place(path)])
    result.gaps.append(Gap(cause, checks: checks))
  }
}
