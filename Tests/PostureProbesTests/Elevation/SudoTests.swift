import Glibc
import Posture
import TestKit
import Testing

@testable import PostureProbes

struct SudoTests {
  private func sudo(_ sudoers: String, _ files: [String: String] = [:]) throws -> PeopleTree {
    let people = try PeopleTree(services: ["sudo"], files)
    try people.tree.write("/etc/sudoers", sudoers, mode: 0o440)
    return people
  }

  struct Rule: CustomStringConvertible, Sendable {
    let sudoers: String
    let alice: String
    let bob: String
    var description: String { sudoers }
  }

  static let rules: [Rule] = [
    Rule(sudoers: "%sudo ALL=(ALL:ALL) ALL", alice: "required passcode", bob: "closed"),
    Rule(sudoers: "alice ALL=(ALL) NOPASSWD: ALL", alice: "notRequired", bob: "closed"),
    Rule(sudoers: "alice ALL=NOPASSWD: ALL\n%sudo ALL=ALL", alice: "required passcode", bob: "closed"),
    Rule(sudoers: "%sudo ALL=ALL\nalice ALL=NOPASSWD: ALL", alice: "notRequired", bob: "closed"),
    Rule(sudoers: "#1000 ALL=NOPASSWD: ALL", alice: "notRequired", bob: "closed"),
    Rule(sudoers: "%#27 ALL=NOPASSWD: ALL", alice: "notRequired", bob: "closed"),
    Rule(sudoers: "ALL, !alice ALL=NOPASSWD: ALL", alice: "closed", bob: "notRequired"),
    Rule(sudoers: "!alice, ALL ALL=NOPASSWD: ALL", alice: "notRequired", bob: "notRequired"),
    Rule(sudoers: "User_Alias A = bob : B = !A, alice\nB ALL=NOPASSWD: ALL", alice: "notRequired", bob: "closed"),
    Rule(sudoers: "alice edge1=NOPASSWD: ALL", alice: "notRequired", bob: "closed"),
    Rule(sudoers: "alice edge2=NOPASSWD: ALL", alice: "closed", bob: "closed"),
    Rule(sudoers: "alice ALL, !edge1=NOPASSWD: ALL", alice: "closed", bob: "closed"),
    Rule(sudoers: "Host_Alias H = edge*\nalice H=NOPASSWD: ALL", alice: "notRequired", bob: "closed"),
    Rule(sudoers: "alice 10.0.0.0/8=NOPASSWD: ALL", alice: "unknown", bob: "closed"),
    Rule(sudoers: "alice ALL=(www-data) NOPASSWD: ALL", alice: "closed", bob: "closed"),
    Rule(sudoers: "alice ALL=(:ops) NOPASSWD: ALL", alice: "closed", bob: "closed"),
    Rule(sudoers: "alice ALL=(ALL, !root) NOPASSWD: ALL", alice: "closed", bob: "closed"),
    Rule(sudoers: "alice ALL=(root) NOPASSWD: ALL", alice: "notRequired", bob: "closed"),
    Rule(sudoers: "Defaults runas_default=bob\nalice ALL=NOPASSWD: ALL", alice: "closed", bob: "closed"),
    Rule(sudoers: "Defaults !authenticate\nalice ALL=ALL", alice: "notRequired", bob: "closed"),
    Rule(sudoers: "Defaults !authenticate\nalice ALL=PASSWD: ALL", alice: "required passcode", bob: "closed"),
    Rule(sudoers: "Defaults:alice !authenticate\nALL ALL=ALL", alice: "notRequired", bob: "required passcode"),
    Rule(sudoers: "Defaults:%sudo !authenticate\nALL ALL=ALL", alice: "notRequired", bob: "required passcode"),
    Rule(sudoers: "Defaults@edge2 !authenticate\nALL ALL=ALL", alice: "required passcode", bob: "required passcode"),
    Rule(sudoers: "Defaults>root !authenticate\nalice ALL=ALL", alice: "notRequired", bob: "closed"),
    Rule(sudoers: "Defaults>bob !authenticate\nalice ALL=ALL", alice: "required passcode", bob: "closed"),
    Rule(sudoers: "Defaults exempt_group=sudo\nALL ALL=ALL", alice: "notRequired", bob: "required passcode"),
    Rule(
      sudoers: "Defaults !authenticate\nDefaults authenticate\nalice ALL=ALL", alice: "required passcode", bob: "closed"
    ),
    Rule(sudoers: "alice ALL=NOTAFTER=20200101000000Z NOPASSWD: ALL", alice: "closed", bob: "closed"),
    Rule(sudoers: "alice ALL=NOPASSWD: ALL, !ALL", alice: "closed", bob: "closed"),
    Rule(sudoers: "alice ALL=(ALL) NOPASSWD:\\\n ALL", alice: "notRequired", bob: "closed"),
    Rule(sudoers: "# alice ALL=NOPASSWD: ALL", alice: "closed", bob: "closed"),
    Rule(sudoers: "\"alice\" ALL=NOPASSWD: ALL", alice: "notRequired", bob: "closed"),
    Rule(sudoers: "alice ALL=(ALL NOPASSWD: ALL\nbob ALL=NOPASSWD: ALL", alice: "closed", bob: "notRequired"),
    Rule(sudoers: "%unknown\\ group ALL=NOPASSWD: ALL", alice: "closed", bob: "closed"),
    Rule(sudoers: "Defaults pam_service=other\nalice ALL=ALL", alice: "closed", bob: "closed"),
    Rule(sudoers: "", alice: "closed", bob: "closed"),
  ]

  @Test(arguments: rules) func `the last rule that matches decides`(_ rule: Rule) throws {
    let people = try sudo(rule.sudoers + "\n")
    #expect(try people.answer("sudo") == rule.alice)
    #expect(try people.answer("sudo", "bob") == rule.bob)
  }

  /// A row of hosts(5), a setting, the host of a rule, and what alice may do by it.
  static let names: [(String, String, String, String)] = [
    ("edge1.example.com edge1 kiosk", "fqdn", "kiosk", "closed"),
    ("edge1.example.com edge1 kiosk", "fqdn", "edge1", "notRequired"),
    ("edge1.example.com edge1 kiosk", "fqdn", "edge1.example.com", "notRequired"),
    ("edge1.example.com edge1 kiosk", "fqdn", "*.example.com", "notRequired"),
    ("edge1.example.com edge1 kiosk", "fqdn", "edge1.other.com", "closed"),
    ("edge1.example.com edge1 kiosk", "!fqdn", "edge1.example.com", "closed"),
    ("edge1.example.com edge1 kiosk", "!fqdn", "edge*", "notRequired"),
    ("localhost edge1", "fqdn", "localhost", "notRequired"),
    ("localhost edge1", "fqdn", "edge1", "closed"),
    ("localhost edge1", "!fqdn", "localhost", "closed"),
    ("localhost edge1", "!fqdn", "edge1", "notRequired"),
    ("localhost", "fqdn", "edge1", "notRequired"),
    ("localhost", "fqdn", "edge1.example.com", "unknown"),
    ("localhost", "!fqdn", "edge1.example.com", "closed"),
  ]

  @Test(arguments: names)
  func `with fqdn the resolver names the host`(_ row: String, _ flag: String, _ host: String, _ alice: String) throws {
    let files = ["/etc/hosts": "127.0.1.1 \(row)\n"]
    #expect(try sudo("Defaults \(flag)\nalice \(host)=NOPASSWD: ALL\n", files).answer("sudo") == alice)
  }

  @Test func `Debian builds sudo with fqdn; of others it cannot be told`() throws {
    let files = [
      "/etc/hosts": "127.0.0.1 localhost edge1\n",
      "/etc/pam.d/sudo": "auth required pam_unix.so\naccount required pam_unix.so\n",
    ]
    let rule = "alice localhost=NOPASSWD: ALL\n"
    #expect(try sudo(rule, files).answer("sudo") == "notRequired")
    let arch = files.merging(["/etc/os-release": "ID=arch\n"]) { $1 }
    #expect(try sudo(rule, arch).answer("sudo") == "unknown")
    let named = arch.merging(["/etc/hosts": "127.0.0.1 localhost\n"]) { $1 }
    #expect(try sudo("alice edge1=NOPASSWD: ALL\n", named).answer("sudo") == "notRequired")
    let rust = arch.merging(["/usr/lib/cargo/bin/sudo": ""]) { $1 }
    let people = try sudo("Defaults fqdn\n" + rule, rust)
    people.tree.link("/usr/bin/sudo", to: "/usr/lib/cargo/bin/sudo")
    #expect(try people.answer("sudo") == "closed")
  }

  @Test(arguments: ["rootpw", "targetpw", "runaspw"])
  func `root's password is root's`(_ flag: String) throws {
    let people = try sudo("Defaults \(flag)\nALL ALL=(ALL) ALL\n")
    #expect(try people.door("sudo", "bob")?.whose == .root)
    #expect(try people.answer("sudo", "bob") == "required passcode")
    try people.tree.write("/etc/shadow", "root:!:1::::::\nalice:\(PeopleTree.hash):1::::::\n")
    #expect(try people.answer("sudo") == "closed")
  }

  @Test func `pam_rootok is not for whoever calls sudo`() throws {
    let people = try sudo("alice ALL=ALL\n")
    try people.tree.write(
      "/etc/pam.d/sudo", "auth sufficient pam_rootok.so\n@include common-auth\n@include common-account\n")
    #expect(try people.answer("sudo") == "required passcode")
  }

  // MARK: Single commands

  @Test func `tags carry on along the list, and single commands have rows of their own`() throws {
    let people = try sudo(
      """
      Cmnd_Alias POWER = /usr/sbin/reboot, /usr/sbin/poweroff
      %sudo ALL=(ALL) ALL
      alice ALL = NOPASSWD: POWER, /usr/bin/apt, PASSWD: /usr/sbin/visudo

      """)
    #expect(try people.answer("sudo") == "required passcode")
    #expect(try people.answer("sudo:/usr/sbin/poweroff") == "notRequired")
    #expect(try people.answer("sudo:/usr/bin/apt") == "notRequired")
    #expect(try people.answer("sudo:/usr/sbin/visudo") == "absent")
    #expect(try people.door("sudo:/usr/bin/apt", "alice")?.counts == true)
    #expect(try people.door("sudo:/usr/sbin/poweroff", "alice")?.counts == false)
  }

  @Test func `a command that is refused differs too`() throws {
    let people = try sudo("alice ALL=ALL, !/usr/bin/passwd\n")
    #expect(try people.answer("sudo:/usr/bin/passwd") == "closed")
  }

  @Test(arguments: [
    ("/bin/bash", true), ("/usr/bin/vim /etc/motd", true), ("/usr/bin/less /var/log/syslog", true),
    ("/usr/bin/systemctl", true), ("/usr/bin/systemctl restart nginx", false), ("/usr/bin/apt-get update", false),
    ("/usr/bin/apt-get install *", true), ("/usr/bin/python3.11", true), ("/usr/bin/python3 /opt/backup.py", false),
    ("/usr/bin/tee", true), ("/usr/bin/cp \"\"", false), ("/bin/mount", true), ("/usr/bin/su", true),
    ("/bin/su - postgres", false), ("/bin/su -", true), ("/usr/bin/env", true), ("/sbin/reboot", false),
    ("/usr/bin/true", false), ("/usr/bin/", true), ("/usr/bin/*", true), ("/usr/bin/z*", true),
    ("/opt/x/report-*", false),
    ("sudoedit", true), ("sudoedit /etc/motd", false), ("sudoedit /etc/sudoers.d/x", true),
    ("/bin/sh /opt/run.sh", false),
    ("/bin/sh -i", true), ("/usr/bin/crontab -e", true), ("/usr/bin/crontab -u bob -e", true),
    ("/usr/bin/crontab -l", false), ("/usr/bin/systemctl edit nginx.service", true),
    ("/usr/bin/systemctl --full edit x", true), ("/usr/bin/systemctl cat edit.service", false),
  ])
  func `what amounts to root`(_ command: String, _ isRoot: Bool) {
    #expect(RootCommands.amountsToRoot(command) == isRoot)
  }

  @Test func `a program that its user may replace amounts to root`() throws {
    let people = try sudo("alice ALL=NOPASSWD: /home/alice/run, /opt/open/run, /opt/shut/run\n")
    try people.tree.write("/opt/open/run", "", mode: 0o777)
    try people.tree.write("/opt/shut/run", "")
    #expect(try people.door("sudo:/home/alice/run", "alice")?.counts == true)
    #expect(try people.door("sudo:/opt/open/run", "alice")?.counts == true)
    #expect(try people.door("sudo:/opt/shut/run", "alice")?.counts == false)
  }

  @Test(arguments: [
    ("/bin/bash /home/alice/bin/backup.sh", true), ("/usr/bin/python3 /home/alice/app.py", true),
    ("/usr/bin/python3 -I/home/alice/lib /opt/shut/run", true), ("/bin/sh -c \"/home/alice/run\"", true),
    ("/usr/bin/python3 /opt/shut/run /home/alice/data", false), ("/bin/sh -x /opt/shut/run", false),
    ("/usr/bin/perl -I /opt/shut /opt/open/run", true), ("/usr/bin/make -C /home/alice/src", true),
    ("/usr/bin/crontab /home/alice/jobs", true), ("/bin/cat /home/alice/data", false),
    ("/usr/bin/env A=1 /home/alice/run", true), ("/usr/bin/timeout -s KILL 5 python3 /home/alice/app.py", true),
    ("/usr/bin/nice -n 10 /bin/bash", true), ("/usr/bin/env bash", true), ("/usr/bin/nice /opt/shut/run", false),
  ])
  func `an interpreter runs what its user may replace`(_ command: String, _ isRoot: Bool) throws {
    let people = try PeopleTree(["/opt/shut/run": ""])
    try people.tree.write("/opt/open/run", "", mode: 0o777)
    let context = try people.context
    let alice = try #require(context.accounts["alice"])
    #expect(CommandPower.isRoot(command, for: alice, context.system) == isRoot)
  }

  @Test(arguments: [
    ("alice ALL=NOPASSWD: SETENV: /opt/run", true), ("alice ALL=NOPASSWD: /opt/run", false),
    ("alice ALL=SETENV: NOPASSWD: /opt/other, /opt/run", true),
    ("alice ALL=SETENV: NOPASSWD: /opt/other, NOSETENV: /opt/run", false),
    ("Defaults setenv\nalice ALL=NOPASSWD: /opt/run", true),
    ("Defaults setenv\nalice ALL=NOPASSWD: NOSETENV: /opt/run", false),
    ("Defaults:bob setenv\nalice ALL=NOPASSWD: /opt/run", false),
  ])
  func `whoever may set variables preloads a library of his own`(_ sudoers: String, _ isRoot: Bool) throws {
    let door = try sudo(sudoers + "\n").door("sudo:/opt/run", "alice")
    #expect(door?.answer == .notRequired)
    #expect(door?.counts == isRoot)
  }

  // MARK: Files

  @Test func `includes are followed where sudo follows them`() throws {
    let people = try sudo(
      "#includedir /etc/sudoers.d\n@include extra\n",
      [
        "/etc/sudoers.d/README.txt": "alice ALL=NOPASSWD: ALL\n", "/etc/sudoers.d/a~": "alice ALL=NOPASSWD: ALL\n",
        "/etc/sudoers.d/edge1": "alice ALL=ALL\n", "/etc/extra": "bob ALL=NOPASSWD: ALL\n",
      ])
    #expect(try people.answer("sudo") == "required passcode")
    #expect(try people.answer("sudo", "bob") == "notRequired")
    let rule = try people.door("sudo", "bob")?.because.first { $0.code == "sudo.nopasswd" }
    #expect(rule?.place == Place("/etc/extra", line: 1))
  }

  @Test func `the vendor's file counts where there is no other`() throws {
    let people = try PeopleTree(services: ["sudo"], ["/usr/etc/sudoers": "alice ALL=NOPASSWD: ALL\n"])
    #expect(try people.answer("sudo") == "notRequired")
  }

  @Test(.enabled(if: geteuid() == 0, "owners can be changed by root only"))
  func `a file of bad owner or mode is not used`() throws {
    for (mode, owner) in [(0o446, 0), (0o440, 1000)] {
      let people = try sudo("alice ALL=NOPASSWD: ALL\n")
      chmod(people.tree.place("/etc/sudoers"), mode_t(mode))
      chown(people.tree.place("/etc/sudoers"), uid_t(owner), 0)
      #expect(try people.answer("sudo") == "closed")
      #expect(try people.codes().contains("sudoersRefused"))
    }
    let people = try sudo("@includedir /etc/sudoers.d\nalice ALL=ALL\n")
    try people.tree.write("/etc/sudoers.d/x", "alice ALL=NOPASSWD: ALL\n", mode: 0o666)
    #expect(try people.answer("sudo") == "required passcode")
  }

  @Test func `neither program nor rules: no door`() throws {
    #expect(try PeopleTree(services: ["sudo"]).answer("sudo") == "absent")
    let removed = try sudo(
      "alice ALL=NOPASSWD: ALL\n",
      [
        "/var/lib/dpkg/status": """
        Package: sudo
        Status: deinstall ok config-files

        """
      ])
    #expect(try removed.answer("sudo") == "absent")
  }

  @Test func `without PAM the shadow file decides`() throws {
    for (field, hash, answer) in [
      ("x", "", Answer.notRequired), ("*", "", .notRequired), ("", PeopleTree.hash, .required),
    ] {
      let tree = try FixtureTree([
        "/etc/passwd": "root:x:0:0::/root:/bin/sh\nann:\(field):1000:1000::/home/ann:/bin/sh\n",
        "/etc/shadow": "root:*:1::::::\nann:\(hash):1::::::\n", "/etc/group": "root:x:0:\n",
      ])
      try tree.write("/etc/sudoers", "ann ALL=(ALL) ALL\n", mode: 0o440)
      let doors = AuthPolicyProbe().run(on: try System(root: tree.root)).doors
      #expect(doors.first { $0.name == "sudo" }?.answer == answer, "\(field)")
    }
  }

  // MARK: People

  @Test func `a rule for nobody is a remark, a service account's rule counts in no check`() throws {
    let people = try sudo("carol ALL=NOPASSWD: ALL\nbackup ALL=NOPASSWD: ALL\n")
    #expect(try people.answer("sudo", "carol") == "absent")
    #expect(try people.codes() == ["sudoUnknownUser"])
    #expect(try people.door("sudo", "backup")?.counts == false)
    let evidence = Judge.evidence(of: try people.facts, under: .entry)
    #expect(evidence.checks.first { $0.name == .elevation }?.result == .success)
    #expect(evidence.findings.filter { $0.severity > .info }.isEmpty)
  }

  @Test func `a rule for a group of the directory leaves its people unknown`() throws {
    let people = try sudo(
      "%admins@corp ALL=NOPASSWD: ALL\n%sudo ALL=ALL\n",
      [
        "/etc/nsswitch.conf": "passwd: files sss\ngroup: files sss\n",
        "/etc/pam.d/common-account": "account required pam_permit.so\n",
        "/etc/sssd/sssd.conf": "[sssd]\nservices = nss, pam\n",
      ])
    #expect(try people.answer("sudo", "external:sss") == "unknown")
    #expect(try people.answer("sudo") == "required passcode")
    try people.tree.write("/etc/sudoers", "carol ALL=NOPASSWD: ALL\n", mode: 0o440)
    #expect(try people.answer("sudo", "external:sss") == "notRequired")
    #expect(try people.codes().isEmpty)
  }

  @Test func `rules in a directory cannot be seen`() throws {
    for (services, answer) in [("nss, pam", "required passcode"), ("nss, pam, sudo", "unknown")] {
      let people = try sudo(
        "%sudo ALL=ALL\n",
        [
          "/etc/nsswitch.conf": "passwd: files\nsudoers: files sss\n",
          "/etc/sssd/sssd.conf": "[sssd]\nservices = \(services)\n",
        ])
      #expect(try people.answer("sudo") == answer)
    }
  }

  @Test func `loops and bombs end`() throws {
    let loop = try sudo("@include /etc/sudoers\nalice ALL=NOPASSWD: ALL\n")
    #expect(try loop.answer("sudo") == "notRequired")
    let bomb =
      (0..<40).map { "User_Alias A\($0) = A\($0 + 1), A\($0 + 1)" }.joined(separator: "\n")
      + "\nUser_Alias A40 = alice\nUser_Alias L = M\nUser_Alias M = L\nA0, L ALL=NOPASSWD: ALL\n"
    #expect(try sudo(bomb).door("sudo", "alice") != nil)
  }
}
