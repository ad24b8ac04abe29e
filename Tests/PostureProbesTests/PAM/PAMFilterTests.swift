import Posture
import TestKit
import Testing

@testable import PostureProbes

/// Modules that ask nobody for anything: who is let through where, and when.
struct PAMFilterTests {
  private static let hash = "$5$rounds=1000$saltsalt$8nWLvZp1nzQbNeZNdCNEVAd5yEdYCdN2E0rCyrnmj3."

  private func opening(
    _ lines: String, _ files: [String: String] = [:], version: String = "1.7.1",
    _ change: (inout PAM.Call) -> Void = { _ in }
  ) throws -> Opening? {
    let base = [
      "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/bash\n",
      "/etc/shadow": "root:\(Self.hash):19700:0:99999:7:::\nalice:\(Self.hash):19700:0:99999:7:::\n",
      "/etc/group": "wheel:x:10:alice\nalice:x:1000:\n", "/etc/os-release": "ID=arch\n",
      "/var/lib/pacman/local/pam-\(version)-1/desc": "", "/etc/pam.d/login": lines,
    ]
    let tree = try FixtureTree(base.merging(files) { $1 })
    let system = try System(root: tree.root, now: 1_767_225_600)
    let pam = PAM(system, Distribution(system), Accounts(system))
    var call = PAM.Call("login")
    call.terminal = "tty1"
    change(&call)
    return pam.outcome(of: call, for: pam.accounts["alice"]).opening
  }

  private static let password = "auth required pam_unix.so\naccount required pam_unix.so\n"

  // MARK: access.conf

  static let rules: [(String, Opening?)] = [
    ("-:alice:ALL", .never), ("- : ALICE : LOCAL", .never), ("-:bob:ALL", .passcode),
    ("-:ALL EXCEPT root alice:ALL", .passcode),
    ("-:ALL EXCEPT root:ALL", .never), ("-:wheel:ALL", .never), ("-:(wheel):ALL", .never), ("-:alice:tty2", .passcode),
    ("-:alice:TTY1", .never), ("+:alice:ALL\n-:ALL:ALL", .passcode), ("-:alice:10.0.0.0/8", .passcode),
    ("# -:alice:ALL\n-:bob:ALL", .passcode), ("-:@staff:ALL", .never), ("-:@others:ALL", .passcode),
    ("-:1000:ALL", .never),
    ("-:alice@host:ALL", nil), ("-:alice", .passcode),
  ]

  @Test(arguments: rules)
  func `access.conf at a terminal`(text: String, wanted: Opening?) throws {
    let found = try opening(
      Self.password + "account required pam_access.so\n",
      ["/etc/security/access.conf": text + "\n", "/etc/netgroup": "staff (,alice,)\nothers (,bob,)\n"])
    #expect(found == wanted, "\(text)")
  }

  @Test func `from afar whoever comes chooses the address`() throws {
    for (text, wanted) in [
      ("+:alice:192.168.0.0/16\n-:ALL:ALL", Opening.passcode), ("-:ALL EXCEPT bob:ALL EXCEPT LOCAL", .never),
      ("-:alice:LOCAL", .passcode), ("-:alice:evil.example", .passcode),
    ] {
      let found = try opening(
        Self.password + "account required pam_access.so\n", ["/etc/security/access.conf": text + "\n"]
      ) {
        $0.isRemote = true
        $0.terminal = "ssh"
      }
      #expect(found == wanted, "\(text)")
    }
  }

  @Test func `the group's number counts since 1_7, nodefgroup takes bare names for users`() throws {
    let stack = Self.password + "account required pam_access.so nodefgroup\n"
    #expect(try opening(stack, ["/etc/security/access.conf": "-:wheel:ALL\n"]) == .passcode)
    #expect(try opening(stack, ["/etc/security/access.conf": "-:(1000):ALL\n"]) == .never)
    #expect(try opening(stack, ["/etc/security/access.conf": "-:1000:ALL\n"], version: "1.5.3") == .passcode)
  }

  // MARK: time.conf

  static let times: [(String, Opening?)] = [
    ("login;*;alice;!Al0000-2400", .never), ("login;*;alice;Al0800-1800", .passcode),
    ("sshd;*;alice;!Al0000-2400", .passcode),
    ("login & !sshd;*;!root & !bob;!Al0000-2400", .never), ("log*;tty*;al*e;!Al0000-2400", .never),
    ("login;tty2;alice;!Al0000-2400", .passcode), ("*;*;alice;Wk0800-0900 & Wd0800-0900", .never),
    ("*;*;alice;MoTu0800-0900\n*;*;alice;We0800-0900", .never),
    ("*;*;alice;Fr2200-0600\n*;*;alice;Sa0100-0200", .passcode),
    ("*;*;@staff;!Al0000-2400", .never), ("*;*;bob | alice;!Al0000-2400", .never), ("*;*;alice;", .never),
    ("# *;*;alice;!Al0000-2400", .passcode), ("*;*;alice", .passcode),
  ]

  @Test(arguments: times)
  func `time.conf`(text: String, wanted: Opening?) throws {
    let found = try opening(
      Self.password + "account required pam_time.so\n",
      ["/etc/security/time.conf": text + "\n", "/etc/netgroup": "staff (,alice,)\n"])
    #expect(found == wanted, "\(text)")
  }

  // MARK: Others

  @Test func `faillock without a word does what preauth does`() throws {
    #expect(try opening("auth required pam_faillock.so\n" + Self.password) == .passcode)
    #expect(try opening("auth sufficient pam_faillock.so\n" + Self.password) == .always)
  }

  @Test func `nothing at all was a number before 1_6`() throws {
    let stack =
      "auth sufficient pam_succeed_if.so ruser = root\nauth required pam_succeed_if.so rhost eq 0\n" + Self.password
    #expect(try opening(stack, version: "1.5.2") == .passcode)
    #expect(try opening(stack) == .never)
  }

  @Test func `netgroups of pam_succeed_if`() throws {
    let files = ["/etc/netgroup": "staff (,alice,)\n"]
    #expect(try opening("auth sufficient pam_succeed_if.so user innetgr staff\n" + Self.password, files) == .always)
    #expect(
      try opening("auth sufficient pam_succeed_if.so user notinnetgr staff\n" + Self.password, files) == .passcode)
  }

  @Test func `modules that went away deny, where the disk does not show which there are`() throws {
    for module in ["pam_tally2", "pam_tally", "pam_cracklib", "pam_lastlog"] {
      #expect(try opening("auth required \(module).so\n" + Self.password) == .never, "\(module)")
    }
    #expect(try opening("auth required pam_lastlog.so\n" + Self.password, version: "1.5.2") == nil)
  }

  @Test func `the kernel's console is a secure terminal`() throws {
    let stack = "auth required pam_securetty.so\n" + Self.password
    for (line, terminal, wanted) in [
      ("console=ttyS0,115200 root=x", "ttyS0", Opening.passcode), ("root=x", "ttyS0", .never),
      ("root=x", "tty1", .passcode),
    ] {
      let tree = try FixtureTree([
        "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\n", "/etc/shadow": "root:\(Self.hash):19700:0:99999:7:::\n",
        "/etc/securetty": "tty1\n", "/proc/cmdline": line + "\n", "/etc/pam.d/login": stack,
      ])
      let system = try System(root: tree.root)
      let pam = PAM(system, Distribution(system), Accounts(system))
      var call = PAM.Call("login")
      call.terminal = terminal
      #expect(pam.outcome(of: call, for: pam.accounts["root"]).opening == wanted, "\(line) \(terminal)")
    }
  }
}
