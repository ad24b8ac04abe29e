import Posture
import TestKit
import Testing

@testable import PostureProbes

/// Details of consoles, display managers and elevation that decide rarely, and then everything.
struct EntryDetailTests {
  private static let getty = "[Service]\nExecStart=-/sbin/agetty -o '-p -- \\\\u' --noclear %I $TERM\n"
  private static let sulogin = "[Service]\nExecStart=-/usr/lib/systemd/systemd-sulogin-shell rescue\n"

  private func door(_ name: String, _ subject: String, _ files: [String: String]) throws -> Door? {
    let base = [
      "/etc/passwd": "root:x:0:0::/root:/bin/sh\nkim:x:1000:1000::/home/kim:/bin/sh\n",
      "/etc/shadow": "root:!:1::::::\nkim:*:1::::::\n", "/usr/lib/systemd/system/getty@.service": Self.getty,
      "/usr/lib/systemd/system/rescue.service": Self.sulogin,
      "/etc/pam.d/login": "auth required pam_unix.so\naccount required pam_unix.so\n",
    ]
    let tree = try FixtureTree(base.merging(files) { $1 })
    let facts = AuthPolicyProbe().run(on: try System(root: tree.root))
    return facts.doors.first { $0.name == name && $0.subject == subject }
  }

  @Test(arguments: [
    ("/etc/systemd/system.conf", "[Manager]\nDefaultEnvironment=A=b SYSTEMD_SULOGIN_FORCE=1\n", Answer.notRequired),
    ("/etc/systemd/system.conf.d/x.conf", "[Manager]\nDefaultEnvironment=\"SYSTEMD_SULOGIN_FORCE=1\"\n", .notRequired),
    ("/etc/systemd/system.conf", "[Manager]\nDefaultEnvironment=SYSTEMD_SULOGIN_FORCE=0\n", .closed),
    ("/proc/cmdline", "root=x systemd.setenv=SYSTEMD_SULOGIN_FORCE=yes\n", .notRequired),
    (
      "/boot/grub/grub.cfg", "menuentry a {\n linux /vmlinuz root=x systemd.setenv=SYSTEMD_SULOGIN_FORCE=1 quiet\n}\n",
      .notRequired
    ),
    ("/etc/systemd/system/rescue.service.d/a.conf", "[Service]\nEnvironment=SYSTEMD_SULOGIN_FORCE=1\n", .notRequired),
    ("/etc/systemd/system/rescue.service.d/.a.conf", "[Service]\nEnvironment=SYSTEMD_SULOGIN_FORCE=1\n", .closed),
    (
      "/etc/systemd/system/rescue.service.d/a.conf",
      "[Service]\nEnvironment=SYSTEMD_SULOGIN_FORCE=1\nUnsetEnvironment=A SYSTEMD_SULOGIN_FORCE\n", .closed
    ),
    (
      "/etc/systemd/system/rescue.service.d/a.conf",
      "[Service]\nEnvironment=SYSTEMD_SULOGIN_FORCE=1\nUnsetEnvironment=SYSTEMD_SULOGIN_FORCE=0\n", .notRequired
    ),
    ("/etc/systemd/system.conf.d/.x.conf", "[Manager]\nDefaultEnvironment=SYSTEMD_SULOGIN_FORCE=1\n", .closed),
    ("/etc/hosts", "", .closed),
  ])
  func `whatever forces the rescue shell`(path: String, text: String, wanted: Answer) throws {
    #expect(try door("rescue@sulogin", "root", [path: text])?.answer == wanted)
  }

  @Test func `a shell in place of init, a debug shell for good`() throws {
    let shell = try door("login@console", "root", ["/boot/firmware/cmdline.txt": "console=tty1 root=x init=/bin/sh\n"])
    #expect(shell?.answer == .notRequired)
    for word in ["rdinit=/bin/sh", "rd.break", "rd.break=pre-mount"] {
      let early = try door("login@console", "root", ["/boot/firmware/cmdline.txt": "console=tty1 \(word)\n"])
      #expect(early?.answer == .notRequired)
    }
    let ordinary = try door("login@console", "root", ["/proc/cmdline": "root=x init=/usr/lib/systemd/systemd\n"])
    #expect(ordinary?.answer == .closed)
    let debug = try door(
      "login@tty9", "root",
      [
        "/usr/lib/systemd/system/debug-shell.service": "[Service]\nExecStart=/bin/sh\nTTYPath=/dev/tty9\n",
        "/boot/loader/entries/a.conf": "title a\noptions root=x systemd.debug_shell\n",
      ])
    #expect(debug?.answer == .notRequired)
  }

  @Test(arguments: [("tty2\n", Answer.required), ("ttyS0\n", .closed), ("", .closed), ("tty1\ntty6\n", .required)])
  func `any terminal that securetty lists lets root in`(listed: String, wanted: Answer) throws {
    let hash = "$5$rounds=1000$saltsalt$8nWLvZp1nzQbNeZNdCNEVAd5yEdYCdN2E0rCyrnmj3."
    let found = try door(
      "login@console", "root",
      [
        "/etc/shadow": "root:\(hash):19700::::::\nkim:*:1::::::\n", "/etc/securetty": listed,
        "/etc/pam.d/login": "auth required pam_securetty.so\nauth required pam_unix.so\naccount required pam_unix.so\n",
      ])
    #expect(found?.answer == wanted)
  }

  @Test func `rungetty logs in too`() throws {
    let reader = TerminalReader(system: try System(root: "/"))
    guard case .login(let call) = reader.read(["/sbin/rungetty", "--autologin", "kim", "tty1"]) else {
      Issue.record("no login")
      return
    }
    #expect(call.skipsAuthentication && call.user == .only("kim"))
  }

  @Test(arguments: [
    ("debian", "/etc/gdm3/custom.conf", false), ("debian", "/etc/gdm3/daemon.conf", true),
    ("ubuntu", "/etc/gdm3/custom.conf", true),
    ("ubuntu", "/etc/gdm3/daemon.conf", false), ("fedora", "/etc/gdm3/custom.conf", false),
    ("arch", "/etc/gdm/custom.conf", true),
  ])
  func `gdm reads the file that its distribution built in`(id: String, path: String, isRead: Bool) throws {
    let tree = try FixtureTree([
      "/etc/passwd": "kim:x:1000:1000::/home/kim:/bin/sh\n", "/etc/os-release": "ID=\(id)\n",
      path: "[daemon]\nAutomaticLoginEnable=true\nAutomaticLogin=kim\n",
    ])
    let setup = DisplayManager.gdm.setup(AuthContext(try System(root: tree.root)))
    #expect(setup.automatic.map(\.user) == (isRead ? ["kim"] : []))
  }

  @Test(arguments: [
    "[initial_session]\ncommand = \"sway\"\nuser = \"kim\"\n",
    "initial_session = { command = \"sway\", user = 'kim' }\n",
    "initial_session.command = \"sway\"\ninitial_session.user = \"kim\"\n",
    "[initial_session] # first\ncommand = 'sway -c \"a, b\"' # x\nuser = 'kim'\n",
  ])
  func `greetd's file in every way that TOML has`(text: String) {
    let table = TOMLTable(text)
    #expect(table["initial_session", "user"]?.text == "kim")
    #expect(table["initial_session", "command"]?.text.hasPrefix("sway") == true)
  }

  // MARK: Elevation and remote

  @Test(arguments: [
    ("ID=debian\nVERSION_ID=\"8\"\n", "", "required passcode"), ("ID=debian\nVERSION_ID=\"12\"\n", "", "closed"),
    ("ID=\"centos\"\nID_LIKE=\"rhel fedora\"\nVERSION_ID=\"7\"\n", "", "required passcode"),
    ("ID=x\n", "Package: openssh-server\nVersion: 1:6.7p1-5+deb8u8\n", "required passcode"),
    ("ID=x\n", "Package: openssh-server\nVersion: 1:9.2p1-2\n", "closed"),
  ])
  func `root came in by password before 7_0`(release: String, packages: String, wanted: String) throws {
    let people = try PeopleTree(
      services: ["sshd"],
      [
        "/usr/sbin/sshd": "", "/etc/ssh/sshd_config": "UsePAM no\n", "/etc/os-release": release,
        "/var/lib/dpkg/status": packages,
      ])
    #expect(try people.answer("ssh@sshd", "root") == wanted)
    try people.tree.write("/etc/ssh/sshd_config", "UsePAM no\nPermitRootLogin prohibit-password\n")
    #expect(try people.answer("ssh@sshd", "root") == "closed")
  }

  @Test func `sudo-rs passes over what it does not know, and has a file of its own`() throws {
    let rules = "Defaults !authenticate\nDefaults exempt_group=sudo\n%sudo ALL=(ALL) ALL\n"
    let people = try PeopleTree(services: ["sudo"], ["/usr/lib/cargo/bin/sudo": ""])
    try people.tree.write("/etc/sudoers", rules, mode: 0o440)
    people.tree.link("/etc/alternatives/sudo", to: "/usr/lib/cargo/bin/sudo")
    people.tree.link("/usr/bin/sudo", to: "/etc/alternatives/sudo")
    #expect(try people.answer("sudo") == "required passcode")
    try people.tree.write("/etc/sudoers-rs", "alice ALL=(ALL) NOPASSWD: ALL\n", mode: 0o440)
    #expect(try people.answer("sudo") == "notRequired")
    let old = try PeopleTree(
      services: ["sudo"], ["/usr/bin/sudo": "", "/etc/sudoers-rs": "alice ALL=(ALL) NOPASSWD: ALL\n"])
    try old.tree.write("/etc/sudoers", rules, mode: 0o440)
    #expect(try old.answer("sudo") == "notRequired")
  }

  @Test func `netgroups in rules of sudo`() throws {
    let people = try PeopleTree(
      services: ["sudo"],
      ["/usr/bin/sudo": "", "/etc/netgroup": "staff (,alice,)\nboxes (edge1,,)\nothers (edge2,bob,)\n"])
    for (rule, alice, bob) in [
      ("+staff ALL=NOPASSWD: ALL", "notRequired", "closed"), ("+others ALL=NOPASSWD: ALL", "closed", "notRequired"),
      ("alice +boxes=NOPASSWD: ALL", "notRequired", "closed"), ("alice +others=NOPASSWD: ALL", "closed", "closed"),
    ] {
      try people.tree.write("/etc/sudoers", rule + "\n", mode: 0o440)
      #expect(try people.answer("sudo") == alice, "\(rule)")
      #expect(try people.answer("sudo", "bob") == bob, "\(rule)")
    }
  }

  @Test func `rows of the keyring are those of the users who were asked about`() throws {
    let key =
      "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB\n-----END OPENSSH PRIVATE KEY-----\n"
    let people = try PeopleTree()
    for name in ["alice", "bob"] { try people.tree.write("/home/\(name)/.ssh/id_ed25519", key, mode: 0o600) }
    let system = try System(root: people.tree.root)
    let all = Set(KeyringProbe().run(on: system).doors.map(\.subject)).subtracting(["*"])
    let some = Set(KeyringProbe(users: ["bob"]).run(on: system).doors.map(\.subject)).subtracting(["*"])
    #expect(all.isSuperset(of: ["alice", "bob"]))
    #expect(some == ["bob"])
  }
}
