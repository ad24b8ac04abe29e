import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureProbes

/// Our reading of sshd_config(5) against `sshd -T -C`.
@Suite(.serialized) struct SSHDDifferentialTests {
  private static let isLong = Long.isWanted
  /// sshd needs its run directory, and a key that belongs to whoever runs it.
  private static let canRun =
    access("/usr/sbin/sshd", X_OK) == 0 && (mkdir("/run/sshd", 0o755) == 0 || errno == EEXIST)
    && access("/usr/bin/ssh-keygen", X_OK) == 0

  private static let keywords = [
    "passwordauthentication", "kbdinteractiveauthentication", "pubkeyauthentication", "permitemptypasswords", "usepam",
    "strictmodes", "gssapiauthentication", "hostbasedauthentication", "usedns", "ignorerhosts",
  ]

  @Test(.enabled(if: canRun, "sshd or ssh-keygen is not installed, or /run/sshd cannot be made"))
  func `our parser says what sshd says`() throws {
    let seed = getenv("POSTURE_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...UInt64.max)
    print("sshd_config, seed \(seed)")
    let tree = try FixtureTree()
    _ = try Command("/usr/bin/ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", tree.place("/key")]).run()
    let people = try Self.people()
    var compared = 0
    for index in 0..<(Self.isLong ? 300 : 25) {
      var generator = RandomSSHD(seed: seed &+ UInt64(index), folder: tree.root)
      try tree.write("/extra-a.conf", generator.lines(3))
      try tree.write("/extra-b.conf", generator.lines(3))
      let text = "HostKey \(tree.place("/key"))\n" + generator.lines(8)
      try tree.write("/sshd_config", text)
      let configuration = SSHDConfiguration(tree.place("/sshd_config"), on: try System())
      for person in people {
        for connection in Self.connections {
          guard let theirs = try Self.asked(tree, person, connection) else { continue }
          compared += 1
          let own = configuration.settings(for: person, on: connection)
          let difference = Self.difference(own, theirs)
          #expect(
            difference == nil,
            "seed \(seed &+ UInt64(index)) \(person.name) \(connection.address):\(connection.localPort)\n\(text)")
        }
      }
    }
    #expect(compared > 20)
  }

  private static func difference(_ own: SSHDSettings, _ theirs: SSHDSettings) -> String? {
    for keyword in keywords where own.flag(keyword) != theirs.flag(keyword) { return keyword }
    for keyword in ["allowusers", "denyusers", "allowgroups", "denygroups"]
    where own.list(keyword) != theirs.list(keyword) {
      return "\(keyword): \(own.list(keyword)), theirs \(theirs.list(keyword))"
    }
    if own.root != theirs.root { return "permitrootlogin: \(own.root), theirs \(theirs.root)" }
    if own.keyFiles != theirs.keyFiles { return "authorizedkeysfile: \(own.keyFiles), theirs \(theirs.keyFiles)" }
    if own.methods != theirs.methods { return "authenticationmethods: \(own.methods), theirs \(theirs.methods)" }
    for keyword in ["trustedusercakeys", "authorizedprincipalsfile", "authorizedkeyscommand"]
    where own.optional(keyword) != theirs.optional(keyword) {
      return "\(keyword): \(own.optional(keyword) ?? "none"), theirs \(theirs.optional(keyword) ?? "none")"
    }
    return nil
  }

  /// nil where sshd refuses the file, as it does for methods that do not fit together.
  private static func asked(
    _ tree: FixtureTree, _ person: SSHDPerson, _ connection: SSHDConnection
  ) throws -> SSHDSettings? {
    let specification =
      "user=\(person.name),host=\(connection.host),addr=\(connection.address),laddr=\(connection.localAddress),"
      + "lport=\(connection.localPort)"
    let output = try Command("/usr/sbin/sshd", ["-T", "-f", tree.place("/sshd_config"), "-C", specification]).run()
    guard output.status == 0 else { return nil }
    return SSHDSettings(printed: String(decoding: output.out, as: UTF8.self))
  }

  private static func people() throws -> [SSHDPerson] {
    let accounts = Accounts(try System())
    return ["root", "daemon"].compactMap { accounts[$0] }.map { SSHDPerson(name: $0.name, groups: $0.groups) }
  }

  private static let connections = [
    SSHDConnection.ordinary,
    SSHDConnection(host: "10.1.2.3", address: "10.1.2.3", localAddress: "192.0.2.2", localPort: 2222, pattern: nil),
    SSHDConnection(host: "h.example", address: "2001:db8::5", localAddress: "10.9.9.9", localPort: 22, pattern: nil),
  ]
}

/// Random lines of sshd_config(5).
struct RandomSSHD {
  private var random: SplitMix
  private let folder: String
  private var depth = 0

  init(seed: UInt64, folder: String) {
    random = SplitMix(seed)
    self.folder = folder
  }

  private mutating func pick(_ items: [String]) -> String { items[Int.random(in: 0..<items.count, using: &random)] }

  private mutating func setting() -> String {
    let word = pick(["yes", "no"])
    return pick([
      "PasswordAuthentication \(word)", "passwordauthentication=\(word)", "KbdInteractiveAuthentication \(word)",
      "ChallengeResponseAuthentication \(word)", "PubkeyAuthentication \"\(word)\"", "PermitEmptyPasswords \(word)",
      "PermitRootLogin \(pick(["yes", "no", "prohibit-password", "without-password", "forced-commands-only"]))",
      "HostbasedAuthentication \(word)", "GSSAPIAuthentication \(word)",
      "AllowUsers \(pick(["root", "daemon root@10.*", "*", "!root *"]))",
      "DenyUsers \(pick(["nobody", "x y", "daemon@h.example"]))", "AllowGroups \(pick(["root", "daemon root", "r*"]))",
      "DenyGroups \(pick(["bin", "x"]))",
      "AuthorizedKeysFile \(pick([".ssh/a .ssh/b", "none", "/etc/ssh/keys/%u", "\"%h/my-keys\""]))",
      "AuthenticationMethods \(pick(["any", "publickey", "publickey,password publickey", "publickey,keyboard-interactive"]))",
      "TrustedUserCAKeys \(pick(["none", "/etc/ssh/ca.pub"]))", "AuthorizedPrincipalsFile /etc/ssh/p/%u",
      "X11Forwarding \(word)", "MaxAuthTries 3", "# PasswordAuthentication no", "",
      "PermitEmptyPasswords \(word) # why",
    ])
  }

  /// What may stand outside blocks only.
  private mutating func global() -> String {
    let word = pick(["yes", "no"])
    return pick(["UsePAM \(word)", "StrictModes \(word)", "UseDNS \(word)", "IgnoreRhosts \(word)", "Port 22"])
  }

  private mutating func match() -> String {
    let criteria = pick([
      "User root", "User !root,*", "User daemon,nobody", "Group root", "Group !root,*", "Group d*,r?ot",
      "Address 10.0.0.0/8", "Address !10.1.0.0/16,10.0.0.0/8", "Address 192.0.2.*", "Address 2001:db8::/32",
      "Host h.example",
      "Host !h.example,*", "LocalPort 2222", "LocalAddress 10.0.0.0/8", "all", "User root Address 10.*",
      "user root group root",
    ])
    return "Match \(criteria)"
  }

  mutating func lines(_ count: Int) -> String {
    var lines: [String] = []
    var isInBlock = false
    for _ in 0..<count {
      switch Int.random(in: 0..<10, using: &random) {
      case 0 where !isInBlock: lines.append(global())
      case 1...2:
        lines.append(match())
        isInBlock = true
      // Files that include nothing further, so that there is no loop.
      case 3 where count > 3: lines.append("Include \(folder)/extra-\(pick(["a", "b", "*", "none"])).conf")
      default: lines.append(setting())
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
