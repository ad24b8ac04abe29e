import Posture
import TestKit
import Testing

@testable import PostureProbes

/// Modules that ask nobody for anything: who is let through where, and when.
struct PAMFilterTests {
  private static let hash = "$5$rounds=1000$saltsalt$8nWLvZp1nzQbNeZNdCNEVAd5yEdYCdN2E0rCyrnmj3."

  private func opening(
    _ lines: String, _ files: [String: String] = [:], of name: String = "alice", version: String = "1.7.1",
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
    return pam.outcome(of: call, for: pam.accounts[name]).opening
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

  @Test func `access.conf's last line counts only where it ends`() throws {
    let stack = Self.password + "account required pam_access.so\n"
    #expect(try opening(stack, ["/etc/security/access.conf": "# nobody\n-:ALL:ALL"]) == .passcode)
    #expect(try opening(stack, ["/etc/security/access.conf": "-:ALL:ALL\n+:ALL:ALL"]) == .never)
  }

  @Test func `separators other than blanks leave the blanks`() throws {
    let stack = Self.password + "account required pam_access.so listsep=,\n"
    for (text, wanted) in [
      ("-:bob, alice:ALL", Opening.passcode), ("-:bob,alice:ALL", .never), ("-:bob,alice:ALL \t", .never),
    ] {
      #expect(try opening(stack, ["/etc/security/access.conf": text + "\n"]) == wanted, "\(text)")
    }
  }

  // MARK: Files that are named and not there

  @Test(arguments: [
    ("account required pam_access.so accessfile=/etc/none", Opening.never),
    ("account required pam_access.so accessfile=", .never),
    ("account required pam_access.so accessfile=/etc/some", .passcode),
    ("account required pam_access.so", .passcode), ("auth required pam_faillock.so preauth conf=/etc/none", .never),
    ("auth required pam_faillock.so preauth conf=/etc/some", .passcode),
    ("auth required pam_faillock.so preauth", .passcode),
    ("auth sufficient pam_faillock.so authsucc conf=/etc/none", .passcode),
    ("account required pam_faillock.so conf=/etc/none", .never),
    ("account required pam_faillock.so conf=/etc", .passcode),
    ("auth required pam_nologin.so file=", .passcode), ("auth required pam_nologin.so file=/etc/none", .passcode),
    ("auth required pam_nologin.so file=/etc/some", .never), ("auth required pam_nologin.so file=/etc", .never),
  ])
  func `a file that a line names`(line: String, wanted: Opening) throws {
    #expect(try opening("\(line)\n\(Self.password)", ["/etc/some": "# nothing\n"]) == wanted)
  }

  @Test func `for root nologin is as if it were not there, unless it is a folder`() throws {
    for (line, wanted) in [
      ("auth sufficient pam_nologin.so", Opening.passcode), ("auth required pam_nologin.so", .passcode),
      ("auth sufficient pam_nologin.so successok", .always), ("auth required pam_nologin.so file=/etc", .never),
    ] {
      #expect(try opening("\(line)\n\(Self.password)", ["/etc/nologin": "soon\n"], of: "root") == wanted, "\(line)")
    }
  }

  // MARK: Lists

  static let lists: [(arguments: String, Opening?)] = [
    ("item=user sense=allow file=/etc/users", .passcode), ("item=user sense=deny file=/etc/users", .never),
    ("item=shell sense=deny file=/etc/lists apply=bob", .never),
    ("item=tty sense=deny file=/etc/lists apply=bob", .passcode),
    ("item=tty sense=deny file=/etc/lists apply=@wheel", .never), ("item=tty sense=deny file=/etc/lists", .never),
    ("item=tty sense=allow file=/etc/lists apply=", .never), ("item=tty sense=allow file=/etc/lists apply=@", .never),
    ("item=user sense=allow file=/etc/users onerr=success", .never), ("item=users sense=deny file=/etc/lists", .never),
    ("onerr=succeed item=users sense=deny file=/etc/lists", .passcode),
    ("item=user sense=allow file=/etc/users quiet", .passcode),
    ("item=user sense=allow file=/etc/users loud=1", .never),
    ("onerr=succeed loud=1 item=user sense=deny file=/etc/users", .passcode),
    ("loud=1 onerr=succeed item=user sense=deny file=/etc/users", .never),
    ("item=ruser sense=allow file=/etc/users", .never),
    ("item=user sense=allow file=etc/users", nil), ("item=user sense=allow file=/etc/crlf", .passcode),
    ("item=user sense=deny file=/etc/none onerr=succeed", .passcode),
  ]

  @Test(arguments: lists) func `pam_listfile takes its arguments at their word`(arguments: String, wanted: Opening?)
    throws
  {
    let files = ["/etc/users": "bob\nalice\n", "/etc/lists": "/bin/bash\n/dev/tty1\n", "/etc/crlf": "\r\nalice\r\n"]
    #expect(try opening("auth required pam_listfile.so \(arguments)\n" + Self.password, files) == wanted)
  }

  @Test(arguments: [
    ("tty2", Opening.passcode), ("pts/0", .passcode), (":0", .passcode), (":0.0", .passcode), ("console", .passcode),
    ("hvc0", .passcode), ("LOGIN", .passcode), ("cron", .never), ("crond", .never), ("10.0.0.1", .never),
    ("10.0.0.0/8", .never), ("::1", .never), ("host", .never),
  ])
  func `without a known terminal one is chosen, or none, and then the service is the origin`(
    origin: String, wanted: Opening
  ) throws {
    let found = try opening(
      Self.password + "account required pam_access.so\n",
      ["/etc/security/access.conf": "+:alice:\(origin)\n-:ALL:ALL\n"]
    ) { $0.terminal = nil }
    #expect(found == wanted, "\(origin)")
  }

  // MARK: sepermit.conf

  static let permits: [(conf: String, selinux: String?, Opening?)] = [
    ("# alice\n\n", nil, .passcode), ("bob\n@others\n", "enforcing", .passcode), ("alice\n", nil, .never),
    ("alice\n", "disabled", .never), ("@wheel:exclusive\n", "Permissive", .never), ("alice\n", "enforcing", nil),
    ("alice:ignore\n", "enforcing", nil), ("%xguest_u:exclusive\n", "enforcing", .passcode),
    ("%staff_u\n", "disabled", .never),
  ]

  @Test(arguments: permits)
  func `who may come in while SELinux is enforcing`(conf: String, selinux: String?, wanted: Opening?) throws {
    var files = ["/etc/security/sepermit.conf": conf]
    if let selinux {
      files["/etc/selinux/config"] = "SELINUX=\(selinux)\nSELINUXTYPE=mls\n"
      files["/etc/selinux/mls/seusers"] = "root:root:s0\n%wheel:staff_u:s0-s15\n__default__:user_u:s0\n"
    }
    let first = "auth [success=done ignore=ignore default=bad] pam_selinux_permit.so\n" + Self.password
    #expect(try opening(first, files) == wanted)
    // Before authentication it may let in, in the account phase it only keeps out.
    #expect(try opening(Self.password + "account required pam_sepermit.so\n", files) == wanted)
  }

  @Test func `what says that SELinux is enforcing`() throws {
    let stack = "auth [success=done ignore=ignore default=bad] pam_sepermit.so\n" + Self.password
    let conf = ["/etc/security/sepermit.conf": "alice\n", "/etc/selinux/config": "SELINUX=enforcing\n"]
    for (path, text, wanted) in [
      ("/sys/fs/selinux/enforce", "1", Opening.always), ("/sys/fs/selinux/enforce", "0", .never),
      ("/proc/cmdline", "root=x enforcing=0\n", .never), ("/proc/cmdline", "root=x selinux=0\n", .never),
    ] {
      #expect(try opening(stack, conf.merging([path: text]) { $1 }) == wanted, "\(path) \(text)")
    }
    #expect(try opening(stack) == .passcode)
    let named = stack.replacing("pam_sepermit.so", with: "pam_sepermit.so conf=/etc/none")
    let empty = ["/etc/security/sepermit.conf": "#\n", "/etc/none": "alice\n"]
    #expect(try opening(named, empty) == .never)
    #expect(try opening(named, empty, version: "1.5.2") == .passcode)
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
  }

  static let contented: [(line: String, Opening?)] = [
    ("pam_echo.so Welcome", .always), ("pam_echo.so file=/etc/said", .always),
    ("pam_echo.so file=/etc/none", .passcode), ("pam_cap.so", .passcode), ("pam_cap.so config=/etc/all", .always),
    ("pam_cap.so config=/etc/wheel", .always), ("pam_cap.so config=/etc/bob", .passcode),
    ("pam_cap.so autoauth", .always),
    ("pam_exec.so type=session /x", .passcode), ("pam_exec.so quiet TYPE=account /x", .passcode),
    ("pam_exec.so type=auth /x", nil), ("pam_exec.so /x type=session", nil),
  ]

  @Test(arguments: contented)
  func `modules that are content with less than a proof`(line: String, wanted: Opening?) throws {
    let files = [
      "/etc/said": "Welcome\n", "/etc/all": "cap_net_raw bob\nnone *\n", "/etc/wheel": "^cap_chown bob @wheel\n",
      "/etc/bob": "# none *\nall bob @others\n",
    ]
    #expect(try opening("auth sufficient \(line)\n" + Self.password, files) == wanted)
  }

  @Test func `sudo lets pam_echo say nothing`() throws {
    let stack = ["/etc/pam.d/sudo": "auth sufficient pam_echo.so Welcome\n" + Self.password]
    #expect(try opening("", stack) { $0.service = "sudo" } == .passcode)
  }

  @Test func `who has not been here for long`() throws {
    let stack = "auth required pam_lastlog.so inactive=35\n" + Self.password
    #expect(try opening(stack, version: "1.5.2") == .passcode)
    #expect(try opening(stack, ["/var/log/lastlog": "x"], version: "1.5.2") == nil)
  }

  static let directories: [(line: String, [String: String], Opening?)] = [
    ("auth [success=1 default=ignore] pam_krb5.so minimum_uid=1001", [:], .passcode),
    ("auth sufficient pam_krb5.so minimum_uid=1001\nauth required pam_deny.so", [:], .never),
    ("auth sufficient pam_krb5.so minimum_uid=1000\nauth required pam_deny.so", [:], nil),
    ("account [success=ok user_unknown=ignore default=bad] pam_ldap.so minimum_uid=1001", [:], .passcode),
    ("account [success=ok authinfo_unavail=ignore default=bad] pam_sss.so", [:], .passcode),
    (
      "account [success=ok authinfo_unavail=ignore default=bad] pam_sss.so", ["/etc/sssd/conf.d/a.conf": "[sssd]\n"],
      .never
    ),
  ]

  @Test(arguments: directories)
  func `directories leave local people to others`(line: String, files: [String: String], wanted: Opening?) throws {
    let stack = line + "\nauth required pam_unix.so\nauth required pam_permit.so\naccount required pam_permit.so\n"
    #expect(try opening(stack, files) == wanted)
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
