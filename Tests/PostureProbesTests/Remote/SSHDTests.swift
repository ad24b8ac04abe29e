import Glibc
import Posture
import TestKit
import Testing

@testable import PostureProbes

struct SSHDTests {
  private static let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExamp a@example\n"

  private func sshd(_ configuration: String, _ files: [String: String] = [:]) throws -> PeopleTree {
    let base = ["/usr/sbin/sshd": "", "/etc/ssh/sshd_config": configuration]
    return try PeopleTree(services: ["sshd"], base.merging(files) { $1 })
  }

  private func keyed(_ configuration: String, _ line: String = key) throws -> PeopleTree {
    try sshd(configuration, ["/home/alice/.ssh/authorized_keys": line, "/root/.ssh/authorized_keys": line])
  }

  /// The question that is asked before it is known how this system starts its sshd.
  @Test(
    arguments: [
      ("", nil, true), ("HostKey /etc/ssh/k", nil, true), ("Match User bob\nPasswordAuthentication no", nil, nil),
      ("", "-D $SSHD_OPTS", true), ("", "-D -o UsePAM=no", false), ("", "-f /etc/ssh/other", false),
    ] as [(String, String?, Bool?)])
  func `what was asked ahead is needed where sshd is told nothing`(
    configuration: String, arguments: String?, isNeeded: Bool?
  ) throws {
    let unit = arguments.map { ["/etc/systemd/system/sshd.service": "[Service]\nExecStart=/usr/sbin/sshd \($0)\n"] }
    let tree = try sshd(configuration, unit ?? [:])
    let system = try System(root: tree.tree.root)
    let question = SSHDServer.usualQuestion(system)
    let servers = SSHDServer.all(system, Distribution.of(system), Startup(system), question)
    #expect(!servers.isEmpty)
    #expect(question.map { question in servers.contains { $0.needs(question) } } == isNeeded)
  }

  @Test func `what was asked ahead is not needed where sshd is not started`() throws {
    let tree = try sshd("", ["/etc/systemd/system/sshd.service": "[Service]\nExecStart=/usr/sbin/sshd -D\n"])
    try tree.tree.write("/usr/lib/systemd/system/cron.service", "[Service]\nExecStart=/usr/sbin/cron -f\n")
    let wanted = "/etc/systemd/system/multi-user.target.wants/cron.service"
    tree.tree.link(wanted, to: "/usr/lib/systemd/system/cron.service")
    let system = try System(root: tree.tree.root)
    let question = try #require(SSHDServer.usualQuestion(system))
    let servers = SSHDServer.all(system, Distribution.of(system), Startup(system), question)
    #expect(servers.count == 1)
    #expect(!servers.contains { $0.needs(question) })
  }

  struct Row: CustomStringConvertible, Sendable {
    let text: String
    /// With a key for alice and root.
    let alice: String
    let root: String
    init(_ text: String, _ alice: String, _ root: String) {
      self.text = text
      self.alice = alice
      self.root = root
    }
    var description: String { text }
  }

  private static let both = "required passcode|token"

  static let rows: [Row] = [
    Row("UsePAM yes", both, "required token"),
    Row("", both, "required token"),
    Row("UsePAM yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no", "required token", "required token"),
    Row("UsePAM yes\nPasswordAuthentication no", both, "required token"),
    Row("UsePAM no\nPasswordAuthentication no", "required token", "required token"),
    Row(
      "UsePAM yes\nPasswordAuthentication no\nChallengeResponseAuthentication no", "required token", "required token"),
    Row("PermitRootLogin yes", both, both),
    Row("PermitRootLogin no", both, "closed"),
    Row("PermitRootLogin without-password", both, "required token"),
    Row("PermitRootLogin forced-commands-only", both, "closed"),
    Row("PubkeyAuthentication no", "required passcode", "closed"),
    Row("AllowUsers bob root", "closed", "required token"),
    Row("AllowUsers bob\nAllowUsers al*", both, "closed"),
    Row("DenyUsers alice", "closed", "required token"),
    Row("AllowGroups sudo", both, "closed"),
    Row("DenyGroups sudo", "closed", "required token"),
    Row("AllowUsers alice@10.0.0.0/8", both, "closed"),
    Row("AuthenticationMethods publickey,password", "required passcode+token", "closed"),
    Row("AuthenticationMethods publickey,password publickey", "required token", "required token"),
    Row("AuthenticationMethods any", both, "required token"),
    // It tries the empty password, which is neither allowed nor theirs.
    Row("AuthenticationMethods none", "closed", "closed"),
    Row("AuthenticationMethods none\nUsePAM yes\nPermitEmptyPasswords yes", "closed", "closed"),
    Row("AuthorizedKeysFile /etc/ssh/keys/%u", "required passcode", "closed"),
    Row("AuthorizedKeysFile none", "required passcode", "closed"),
    Row("AuthorizedKeysFile %h/.ssh/authorized_keys", both, "required token"),
    // sshd does not start without the user who is to run the command.
    Row("AuthorizedKeysFile none\nAuthorizedKeysCommand /usr/bin/x", "required passcode", "closed"),
    Row(
      "AuthorizedKeysFile none\nAuthorizedKeysCommand /usr/bin/x\nAuthorizedKeysCommandUser nobody", both,
      "required token"),
    Row("RevokedKeys /etc/ssh/revoked", "required passcode", "closed"),
    Row("RevokedKeys /etc/ssh/sshd_config", both, "required token"),
    Row("RevokedKeys none", both, "required token"),
    Row("PasswordAuthentication no\nPasswordAuthentication yes\nUsePAM no", "required token", "required token"),
    Row("Match User alice\nPasswordAuthentication no", "required token", "required token"),
    Row("PasswordAuthentication no\nMatch User alice\n PasswordAuthentication yes", both, "required token"),
    Row("PasswordAuthentication no\nMatch Address 10.0.0.0/8\n PasswordAuthentication yes", both, "required token"),
    Row("PasswordAuthentication no\nMatch Group ops\n PasswordAuthentication yes", "required token", "required token"),
    Row(
      "PasswordAuthentication no\nMatch User !alice,*\n PasswordAuthentication yes", "required token", "required token"),
    Row("Match User bob\nPasswordAuthentication no\nMatch all\nPermitRootLogin no", both, "closed"),
    Row("PasswordAuthentication=no", "required token", "required token"),
    Row("passwordauthentication \"no\" # why", "required token", "required token"),
    Row("#PasswordAuthentication no", both, "required token"),
    Row("GSSAPIAuthentication yes\nHostbasedAuthentication yes", both, "required token"),
  ]

  @Test func `no method at all lets an empty password in where that is allowed`() throws {
    let shadow = "root:*:1::::::\nalice::1::::::\nbob:\(PeopleTree.hash):1::::::\n"
    let none = "UsePAM yes\nAuthenticationMethods none\n"
    let people = try sshd(none + "PermitEmptyPasswords yes\n", ["/etc/shadow": shadow])
    #expect(try people.answer("ssh@sshd") == "notRequired")
    #expect(try people.answer("ssh@sshd", "bob") == "closed")
    #expect(try sshd(none, ["/etc/shadow": shadow]).answer("ssh@sshd") == "closed")
  }

  @Test func `started by inetd, with options of a start script, by number`() throws {
    let off = "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
    func answer(_ configuration: String, _ files: [String: String]) throws -> String {
      try sshd(configuration, ["/etc/inittab": "id:2:initdefault:\n"].merging(files) { $1 }).answer("ssh@sshd")
    }
    let inetd = ["/etc/rc2.d/S01inetd": "", "/etc/inetd.conf": "ssh stream tcp nowait root /usr/sbin/sshd sshd -i\n"]
    #expect(try answer("", inetd) == "required passcode")
    #expect(try answer("", ["/etc/rc2.d/S01cron": ""]) == "absent")
    let options = ["/etc/conf.d/sshd": "SSHD_OPTS=\"-o PasswordAuthentication=yes\"\n", "/etc/rc2.d/S02sshd": ""]
    #expect(try answer(off, options) == "required passcode")
    #expect(try answer(off, ["/etc/rc2.d/S02sshd": ""]) == "closed")
    #expect(try answer("", ["/etc/init.d/S50sshd": ""]) == "required passcode")
    #expect(try answer("", ["/etc/init.d/S40network": ""]) == "absent")
  }

  @Test(arguments: rows) func `ways in by configuration`(_ row: Row) throws {
    let people = try keyed(row.text + "\n")
    #expect(try people.answer("ssh@sshd") == row.alice)
    #expect(try people.answer("ssh@sshd", "root") == row.root)
  }

  @Test func `includes, the first value and the vendor's file`() throws {
    let people = try sshd(
      "Include sshd_config.d/*.conf\nPasswordAuthentication yes\n",
      [
        "/etc/ssh/sshd_config.d/10-a.conf": "PasswordAuthentication no\nMatch User bob\nPasswordAuthentication yes\n",
        "/etc/ssh/sshd_config.d/20-b": "PermitRootLogin yes\n",
      ])
    #expect(try people.answer("ssh@sshd") == "closed")
    #expect(try people.answer("ssh@sshd", "bob") == "required passcode")
    let vendor = try PeopleTree(
      services: ["sshd"], ["/usr/sbin/sshd": "", "/usr/etc/ssh/sshd_config": "PasswordAuthentication no\n"])
    #expect(try vendor.answer("ssh@sshd") == "closed")
  }

  // MARK: Accounts

  @Test func `a locked field without PAM refuses keys too, a star does not`() throws {
    for (field, answer) in [("!$6$x", "closed"), ("*", "required token"), (PeopleTree.hash, "required token")] {
      let people = try keyed("UsePAM no\nPasswordAuthentication no\n")
      try people.tree.write("/etc/shadow", "alice:\(field):1::::::\n")
      #expect(try people.answer("ssh@sshd") == answer, "\(field)")
    }
    let withPAM = try keyed("UsePAM yes\nPasswordAuthentication no\n")
    try withPAM.tree.write("/etc/shadow", "alice:!x:1::::::\n")
    #expect(try withPAM.answer("ssh@sshd") == "required token")
  }

  @Test func `an empty password opens only where sshd permits it`() throws {
    for (text, answer) in [
      ("UsePAM yes", "closed"), ("UsePAM yes\nPermitEmptyPasswords yes", "notRequired"), ("UsePAM no", "closed"),
      ("UsePAM no\nPermitEmptyPasswords yes", "notRequired"),
    ] {
      let people = try sshd(text + "\n")
      try people.tree.write("/etc/shadow", "alice::1::::::\n")
      #expect(try people.answer("ssh@sshd") == answer, "\(text)")
    }
  }

  @Test func `a block for a port counts where sshd listens on it`() throws {
    let block = "UsePAM yes\nMatch LocalPort 2222\nPermitEmptyPasswords yes\n"
    for (text, answer) in [
      (block, "closed"), ("Port 22\nPort 2222\n" + block, "notRequired"), ("Port 2222\n" + block, "notRequired"),
      ("ListenAddress 192.0.2.9:2222\n" + block, "notRequired"), ("ListenAddress [::]:2222\n" + block, "notRequired"),
      ("ListenAddress fe80::2222\n" + block, "closed"),
    ] {
      let people = try sshd(text)
      try people.tree.write("/etc/shadow", "alice::1::::::\n")
      #expect(try people.answer("ssh@sshd") == answer, "\(text)")
    }
    let unit = "[Service]\nExecStart=/usr/sbin/sshd -D -p 2222\n"
    let named = try sshd(block, ["/usr/lib/systemd/system/ssh.service": unit, "/usr/lib/systemd/systemd": ""])
    try named.tree.write("/etc/shadow", "alice::1::::::\n")
    #expect(try named.answer("ssh@sshd") == "notRequired")
  }

  /// alice's password is empty: "notRequired" where a connection is found to which the last block applies.
  static let parts: [(text: String, answer: String)] = [
    // The weaker network around a stricter one.
    ("Match Address 10.0.0.0/24\n\(no)Match Address 10.0.0.0/8\n\(yes)", "notRequired"),
    ("Match Address 10.0.0.0/9\n\(no)Match Address 10.0.0.0/8\n\(yes)", "notRequired"),
    ("Match Address 10.0.0.1\n\(no)Match Address 10.0.0.0/8\n\(yes)", "notRequired"),
    ("Match Address 10.0.0.*\n\(no)Match Address 10.*\n\(yes)", "notRequired"),
    ("Match Address 10.0.0.0/8,!10.0.0.0/24\n\(yes)", "notRequired"),
    ("Match Address 192.168.0.0/16,!192.168.0.1\n\(yes)", "notRequired"),
    ("Match Address *,!192.0.2.0/24\n\(yes)", "notRequired"),
    ("Match Address 2001:db8::/64\n\(no)Match Address 2001:db8::/32\n\(yes)", "notRequired"),
    ("Match Address 10.0.0.1 User bob\n\(no)Match Address 10.0.0.0/8\n\(yes)", "notRequired"),
    ("DenyUsers alice@10.0.0.1\nMatch Address 10.0.0.0/8\n\(yes)", "notRequired"),
    // Halves leave no gap.
    ("Match Address 10.0.0.0/9,10.128.0.0/9\n\(no)Match Address 10.0.0.0/8\n\(yes)", "closed"),
    // An address and a name together, where names are looked up.
    ("UseDNS yes\nMatch Address 10.0.0.0/8 Host *.lan\n\(yes)", "notRequired"),
    ("UseDNS yes\nAllowUsers alice@*.lan\nMatch Address 10.0.0.0/8\n\(yes)", "notRequired"),
    ("Match Address 10.0.0.0/8 Host *.lan\n\(yes)", "closed"),
    // Addresses that sshd listens on.
    ("Match LocalAddress 10.0.0.1\n\(yes)", "notRequired"),
    ("ListenAddress 10.0.0.2\nMatch LocalAddress 10.0.0.1\n\(yes)", "closed"),
    ("ListenAddress 10.0.0.2\nListenAddress 10.0.0.1\nMatch LocalAddress 10.0.0.1\n\(yes)", "notRequired"),
    ("ListenAddress 0.0.0.0\nMatch LocalAddress 10.0.0.1\n\(yes)", "notRequired"),
    ("Match LocalAddress 10.0.0.1 LocalPort 22\n\(yes)", "notRequired"),
    ("Port 2222\nPort 22\nPermitEmptyPasswords yes\nMatch LocalPort 2222\n\(no)", "notRequired"),
    // Many, and more than are tried.
    (networks(20) + "Match Address 172.16.0.0/12\n\(yes)", "notRequired"),
    (networks(100) + "Match Address 172.16.0.0/12\n\(yes)", "unknown"),
    ("AllowUsers " + (0..<100).map { "bob@host\($0)" }.joined(separator: " ") + "\n", "closed"),
  ]

  private static let yes = "PermitEmptyPasswords yes\n"
  private static let no = "PermitEmptyPasswords no\n"

  private static func networks(_ count: Int) -> String {
    (0..<count).map { "Match Address 10.\($0 * 2).0.0/16\nX11Forwarding no\n" }.joined()
  }

  @Test(arguments: parts) func `each part of the connections counts`(_ text: String, _ answer: String) throws {
    let people = try sshd("UsePAM yes\n" + text)
    try people.tree.write("/etc/shadow", "alice::1::::::\n")
    #expect(try people.answer("ssh@sshd") == answer)
  }

  @Test func `a method by a device that Linux has not never succeeds`() throws {
    for (method, answer) in [("pam", "required passcode"), ("bsdauth", "closed")] {
      let people = try sshd("UsePAM yes\nAuthenticationMethods keyboard-interactive:\(method)\n")
      #expect(try people.answer("ssh@sshd") == answer)
    }
  }

  static let rowsOfShadow: [(field: String, shadow: String, String)] = [
    ("", "\(PeopleTree.hash):1::::::", both), (PeopleTree.hash, "!:1::::::", "closed"),
    ("*", "\(PeopleTree.hash):1::::::", both),
    (PeopleTree.hash, ":1::::::", "notRequired"), ("", "\(PeopleTree.hash):1:::::1:", "closed"),
    ("x", "\(PeopleTree.hash):1:::::20454:", both), ("x", "\(PeopleTree.hash):1:::::20453:", "closed"),
  ]

  @Test(arguments: rowsOfShadow)
  func `without PAM shadow's row counts whatever passwd has, up to its last day`(
    field: String, shadow: String, wanted: String
  ) throws {
    let people = try keyed("UsePAM no\nPermitEmptyPasswords yes\n")
    try people.tree.write("/etc/passwd", "alice:\(field):1000:1000::/home/alice:/bin/bash\n")
    try people.tree.write("/etc/shadow", "alice:\(shadow)\n")
    let system = try System(root: people.tree.root, now: 20_454 * 86_400 + 1)
    let door = AuthPolicyProbe().run(on: system).doors.first { $0.name == "ssh@sshd" && $0.subject == "alice" }
    let sets = door?.opening?.sets.map { $0.factors.map(\.name).joined(separator: "+") }.joined(separator: "|") ?? ""
    let answer = door?.answer == .required ? "required \(sets)" : door?.answer.rawValue
    #expect(answer == wanted, "\(field) \(shadow)")
  }

  @Test func `an expired account is refused with a key`() throws {
    let people = try keyed("UsePAM yes\n")
    try people.tree.write("/etc/shadow", "alice:\(PeopleTree.hash):19700:0:99999:7::100:\n")
    #expect(try people.answer("ssh@sshd") == "closed")
  }

  // MARK: Keys

  struct Line: CustomStringConvertible, Sendable {
    let text: String
    let isKey: Bool
    var description: String { text }
  }

  static let lines: [Line] = [
    Line(text: key, isKey: true),
    Line(text: "# " + key, isKey: false),
    Line(text: "restrict,command=\"echo ssh-rsa AAAA, x\",from=\"10.*\" " + key, isKey: true),
    Line(text: "cert-authority " + key, isKey: true),
    Line(text: "expiry-time=\"20200101\" " + key, isKey: false),
    Line(text: "expiry-time=\"20990101Z\" " + key, isKey: true),
    Line(text: "ssh-dss AAAAB3NzaC1kc3MAAACBAExampleExampleExampleExampleExampleEx a\n", isKey: false),
    Line(text: "ssh-ed25519 short a\n", isKey: false),
    Line(text: "root:$6$x$y:1::::::\n", isKey: false),
    Line(text: "\u{0}\u{1}\n", isKey: false),
    Line(text: "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIEx a\n", isKey: true),
  ]

  @Test(arguments: lines) func `lines of authorized_keys`(_ line: Line) throws {
    let people = try keyed("UsePAM no\nPasswordAuthentication no\n", line.text)
    #expect(try people.answer("ssh@sshd") == (line.isKey ? "required token" : "closed"))
  }

  private static let dsa = "ssh-dss AAAAB3NzaC1kc3MAAACBAExampleExampleExampleExampleExampleEx a\n"
  private static let rsa = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQExampleExampleExampleExampleEx a\n"

  static let algorithms: [(text: String, line: String, isTaken: Bool)] = [
    ("", dsa, false), ("PubkeyAcceptedAlgorithms +ssh-dss", dsa, true), ("PubkeyAcceptedKeyTypes +ssh-dss*", dsa, true),
    ("PubkeyAcceptedAlgorithms ssh-ed25519", key, true), ("PubkeyAcceptedAlgorithms ssh-ed25519", rsa, false),
    ("PubkeyAcceptedAlgorithms ssh-ed25519,rsa-sha2-*", rsa, true), ("PubkeyAcceptedAlgorithms sk-*", key, false),
    ("PubkeyAcceptedAlgorithms -ssh-ed25519*", key, false), ("PubkeyAcceptedAlgorithms -ssh-rsa*", rsa, true),
    ("PubkeyAcceptedAlgorithms -ssh-rsa,rsa-sha2-256,rsa-sha2-512", rsa, false),
    ("PubkeyAcceptedAlgorithms ^ssh-ed25519", rsa, true), ("PubkeyAcceptedAlgorithms +ssh-ed25519", rsa, true),
  ]

  @Test(arguments: algorithms) func `a key counts where its kind may sign`(
    _ text: String, _ line: String, _ isTaken: Bool
  ) throws {
    let people = try keyed("UsePAM no\nPasswordAuthentication no\n\(text)\n", line)
    #expect(try people.answer("ssh@sshd") == (isTaken ? "required token" : "closed"))
  }

  @Test func `before 7.0 DSA keys are as good as others`() throws {
    let people = try keyed("UsePAM no\nPasswordAuthentication no\n", Self.dsa)
    try people.tree.write("/var/lib/dpkg/status", "Package: openssh-server\nVersion: 1:6.7p1-5+deb8u8\n")
    #expect(try people.answer("ssh@sshd") == "required token")
    try people.tree.write("/var/lib/dpkg/status", "Package: openssh-server\nVersion: 1:7.4p1-10\n")
    #expect(try people.answer("ssh@sshd") == "closed")
  }

  @Test func `forced commands let root in where only they may`() throws {
    let people = try keyed("PermitRootLogin forced-commands-only\n", "command=\"/bin/backup\" " + Self.key)
    #expect(try people.answer("ssh@sshd", "root") == "required token")
  }

  @Test func `a key that others may write is not used, unless StrictModes is off`() throws {
    for (strict, answer) in [("yes", "closed"), ("no", "required token")] {
      let people = try keyed("UsePAM no\nPasswordAuthentication no\nStrictModes \(strict)\n")
      chmod(people.tree.place("/home/alice/.ssh"), 0o777)
      #expect(try people.answer("ssh@sshd") == answer)
    }
  }

  @Test func `certificates of a trusted authority`() throws {
    let text = "PasswordAuthentication no\nTrustedUserCAKeys /etc/ssh/ca.pub\n"
    #expect(try sshd(text).answer("ssh@sshd") == "closed")
    #expect(try sshd(text, ["/etc/ssh/ca.pub": Self.key]).answer("ssh@sshd") == "required token")
    let named = text + "AuthorizedPrincipalsFile /etc/ssh/principals/%u\n"
    #expect(try sshd(named, ["/etc/ssh/ca.pub": Self.key]).answer("ssh@sshd") == "closed")
    let listed = ["/etc/ssh/ca.pub": Self.key, "/etc/ssh/principals/alice": "admin\n"]
    #expect(try sshd(named, listed).answer("ssh@sshd") == "required token")
    #expect(try sshd(named, listed).answer("ssh@sshd", "bob") == "closed")
  }

  @Test func `Kerberos and other hosts count where they can decide`() throws {
    let people = try sshd("GSSAPIAuthentication yes\n", ["/etc/krb5.keytab": "x"])
    #expect(try people.answer("ssh@sshd") == "unknown")
    let hosts = try sshd("HostbasedAuthentication yes\n", ["/etc/ssh/shosts.equiv": "x\n"])
    #expect(try hosts.answer("ssh@sshd") == "unknown")
  }

  // MARK: Hostile homes

  @Test func `what owners put in place of their keys costs nothing`() throws {
    let people = try sshd("UsePAM no\nPasswordAuthentication no\n", ["/home/alice/.ssh/x": ""])
    people.tree.makeFIFO("/home/alice/.ssh/authorized_keys")
    people.tree.link("/home/bob/.ssh/authorized_keys", to: "/dev/zero")
    #expect(try people.answer("ssh@sshd") == "closed")
    #expect(try people.answer("ssh@sshd", "bob") == "closed")
    let sparse = try sshd("UsePAM no\nPasswordAuthentication no\n")
    try sparse.tree.makeSparse("/home/alice/.ssh/authorized_keys", size: 10 << 30)
    sparse.tree.link("/home/bob/.ssh/authorized_keys", to: "/etc/shadow")
    #expect(try sparse.answer("ssh@sshd") == "closed")
    #expect(try sparse.answer("ssh@sshd", "bob") == "closed")
  }

  @Test func `includes that loop, and a configuration that is no file`() throws {
    let loop = try sshd("Include /etc/ssh/sshd_config\nPasswordAuthentication no\n")
    #expect(try loop.answer("ssh@sshd") == "closed")
    let people = try PeopleTree(services: ["sshd"], ["/usr/sbin/sshd": ""])
    people.tree.makeFIFO("/etc/ssh/sshd_config")
    #expect(try people.answer("ssh@sshd") == "unknown")
  }

  // MARK: Started

  private static let unit =
    "[Service]\nExecStart=/usr/sbin/sshd -D $SSHD_OPTS\nEnvironmentFile=-/etc/default/ssh\n[Install]\nWantedBy=multi-user.target\n"

  @Test func `dormant, masked, started by its socket`() throws {
    let files = [
      "/usr/lib/systemd/system/ssh.service": Self.unit, "/usr/lib/systemd/system/multi-user.target": "[Unit]\n",
      "/usr/lib/systemd/system/getty@.service": "[Service]\n",
      "/usr/lib/systemd/system/ssh.socket": "[Socket]\nListenStream=22\n",
    ]
    let people = try sshd("UsePAM yes\n", files)
    people.tree.link(
      "/etc/systemd/system/getty.target.wants/getty@tty1.service", to: "/lib/systemd/system/getty@.service")
    #expect(try people.answer("ssh@sshd") == "absent")
    #expect(try people.codes().contains("dormantDoor"))
    people.tree.link("/etc/systemd/system/multi-user.target.wants/ssh.service", to: "/lib/systemd/system/ssh.service")
    #expect(try people.answer("ssh@sshd") == "required passcode")
  }

  @Test func `options of the command line come first`() throws {
    let people = try sshd(
      "PasswordAuthentication yes\n",
      [
        "/usr/lib/systemd/system/ssh.service": Self.unit,
        "/etc/default/ssh": "SSHD_OPTS=\"-o PasswordAuthentication=no -f /etc/ssh/other\"\n",
        "/etc/ssh/other": "UsePAM no\nPasswordAuthentication yes\n",
      ])
    #expect(try people.answer("ssh@sshd") == "closed")
  }
}
