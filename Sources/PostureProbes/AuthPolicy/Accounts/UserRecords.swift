import Posture
import PosturePlatform

/// JSON user records: homes of systemd-homed, and the drop-ins of userdb (systemd.io/USER_RECORD).
struct UserRecords {
  struct Record {
    var json: JSON
    /// The sections that only root may read.
    var privileged: JSON?
    var place: Place
    var source: Account.Source
  }

  /// Where userdb(8) looks for records.
  static let folders = ["/etc/userdb", "/run/userdb", "/run/host/userdb", "/usr/local/lib/userdb", "/usr/lib/userdb"]

  private let system: System
  private(set) var records: [Record] = []
  private(set) var failures: [(path: String, reason: System.Unreadable)] = []

  init(_ system: System) {
    self.system = system
    read("/var/lib/systemd/home", suffix: ".identity", .homed)
    for folder in Self.folders { read(folder, suffix: ".user", .userdb) }
  }

  private mutating func read(_ folder: String, suffix: String, _ source: Account.Source) {
    let names: [String]
    do throws(System.Unreadable) { names = try system.list(folder) } catch {
      if error != .missing { failures.append((folder, error)) }
      return
    }
    for name in names where name.ends(with: suffix) {
      // Links by uid stand beside those by name.
      guard name.dropLast(suffix.utf8.count).contains(where: { !$0.isNumber }) else { continue }
      read("\(folder)/\(name)", source)
    }
  }

  private mutating func read(_ path: String, _ source: Account.Source) {
    do throws(System.Unreadable) {
      let bytes = try system.read(path).bytes
      guard let json = try? JSONParser.parse(bytes), json["userName"]?.string != nil else {
        failures.append((path, .notRegular))
        return
      }
      let extra = (try? system.read("\(path)-privileged")).flatMap { try? JSONParser.parse($0.bytes) }
      let record = Record(
        json: json, privileged: json["privileged"] ?? extra?["privileged"] ?? extra, place: Place(path),
        source: source)
      records.append(record)
    } catch { failures.append((path, error)) }
  }
}

extension UserRecords.Record {
  var name: String { json["userName"]?.string ?? "" }

  /// The account that nss-systemd makes of it.
  func account(now: Int64, groups: (String, UInt32) -> Set<String>) -> Account? {
    guard let uid = json["uid"]?.integer.flatMap(UInt32.init(exactly:)) else { return nil }
    let gid = json["gid"]?.integer.flatMap(UInt32.init(exactly:)) ?? uid
    let shell = json["shell"]?.string ?? "/bin/bash"
    let hash = privileged?["hashedPassword"]?.array?.first?.string
    let field = source == .homed ? PasswordField(.external) : hash.map(PasswordField.init) ?? PasswordField(.locked)
    let ageing = ageing(now)
    return Account(
      name: name, uid: uid, gid: gid, home: json["homeDirectory"]?.string ?? "/home/\(name)", shell: shell,
      kind: kind(uid, shell), password: field.password, scheme: field.scheme,
      account: Accounts.state(ageing, shell), hash: hash, isUnshadowed: false, hasNoShadowRow: false,
      groups: groups(name, gid).union(memberships), place: place, source: source, ageing: ageing,
      homed: opening, isHomeEncrypted: isEncrypted)
  }

  private var memberships: Set<String> { Set(json["memberOf"]?.array?.compactMap(\.string) ?? []) }

  private func kind(_ uid: UInt32, _ shell: String) -> Subject.Kind {
    if uid == 0 { return .root }
    let disposition = json["disposition"]?.string ?? (source == .homed ? "regular" : "")
    let isPerson = disposition.isEmpty ? uid >= 1000 && uid < 65000 : disposition == "regular"
    return isPerson && LoginShell.admits(shell) ? .owner : .service
  }

  private func ageing(_ now: Int64) -> Account.Ageing {
    if json["locked"]?.bool == true { return .expired }
    let microseconds = now * 1_000_000
    if let end = json["notAfterUSec"]?.integer, end < microseconds { return .expired }
    if let start = json["notBeforeUSec"]?.integer, start > microseconds { return .expired }
    return json["passwordChangeNow"]?.bool == true ? .mustChange : .none
  }

  /// Storages that nobody gets at without the secret.
  private var isEncrypted: Bool {
    source == .homed && ["luks", "fscrypt", "cifs"].contains(json["storage"]?.string ?? "luks")
  }

  private var opening: Opening {
    guard source == .homed else { return .never }
    var sets: [FactorSet] = []
    func has(_ member: String) -> Bool { privileged?[member]?.array?.isEmpty == false }
    if has("hashedPassword") { sets.append(FactorSet(.passcode)) }
    if has("pkcs11EncryptedKey") || has("fido2HmacSalt") { sets.append(FactorSet(.token)) }
    if has("recoveryKey") { sets.append(FactorSet(.recovery)) }
    // Without the privileged section nothing is known but that a secret is asked.
    return Opening(sets.isEmpty ? [FactorSet(.passcode)] : sets)
  }
}

/// Shells that let nobody in.
enum LoginShell {
  private static let closed: Set<String> = ["nologin", "false", "true", "sync", "shutdown", "halt", "null"]

  static func admits(_ shell: String) -> Bool { !closed.contains(Path.name(of: shell)) }
}
