import Posture
@testable import PostureProbes
import TestKit
import Testing

/// What whole stacks ask of whom: the modules of SEMANTICS, one situation each.
struct PAMOutcomeTests {
  private static let hash = "$5$rounds=1000$saltsalt$8nWLvZp1nzQbNeZNdCNEVAd5yEdYCdN2E0rCyrnmj3."

  private static let passwd = """
    root:x:0:0:root:/root:/bin/bash
    alice:x:1000:1000::/home/alice:/bin/bash
    guest:x:1001:1001::/home/guest:/bin/bash

    """
  private static let files = [
    "/etc/passwd": passwd,
    "/etc/shadow": "root:*:19700:0:99999:7:::\nalice:\(hash):19700:0:99999:7:::\nguest::19700:0:99999:7:::\n",
    "/etc/group": "wheel:x:10:alice\nnopasswdlogin:x:11:guest\nalice:x:1000:\nguest:x:1001:\n",
    "/etc/os-release": "ID=arch\n", "/var/lib/pacman/local/pam-1.7.1-1/desc": "",
    "/var/lib/fprint/alice/driver/device/7": "", "/home/alice/.google_authenticator": "SECRET\n",
    "/etc/u2f": "alice:handle,key\n", "/usr/libexec/fprintd": "",
  ]

  private func outcome(
    _ auth: String, of name: String = "alice", account: String = "account required pam_permit.so",
    _ more: [String: String] = [:], _ change: (inout PAM.Call) -> Void = { _ in }
  ) throws -> PAM.Outcome {
    let service = ["/etc/pam.d/svc": "\(auth)\n\(account)\n"]
    let tree = try FixtureTree(Self.files.merging(service) { $1 }.merging(more) { $1 })
    for owned in ["/home/alice/.google_authenticator"] { try tree.write(owned, "SECRET\n") }
    let system = try System(root: tree.root, now: 1_767_225_600)
    let pam = PAM(system, Distribution(system), Accounts(system))
    var call = PAM.Call("svc")
    change(&call)
    return pam.outcome(of: call, for: pam.accounts[name])
  }

  @Test(arguments: [
    ("auth required pam_faillock.so preauth\nauth sufficient pam_unix.so nullok", "emptyPassword"),
    ("auth [default=1 success=ok] pam_localuser.so\nauth sufficient pam_unix.so nullok", "emptyPassword"),
    (
      "auth [success=1 default=ignore] pam_unix.so nullok\nauth requisite pam_deny.so\nauth required pam_permit.so",
      "emptyPassword"
    ),
    ("auth sufficient pam_faillock.so authsucc\nauth required pam_unix.so nullok", "pamFilterGrants"),
    ("auth sufficient pam_permit.so\nauth required pam_unix.so nullok", "pamPermits"),
  ])
  func `what lets in is the cause, not what merely does not keep out`(auth: String, code: String) throws {
    #expect(try outcome(auth, of: "guest").cause?.code == code)
  }

  @Test func `a stack that decides nothing says so`() throws {
    for stack in ["auth required pam_env.so", "auth optional pam_warn.so"] {
      let outcome = try outcome(stack)
      #expect(outcome.opening == .never && outcome.because.contains { $0.place == Place("/etc/pam.d/svc", line: 1) })
    }
  }

  @Test(arguments: [
    ("files nis", Opening?.some(.passcode)), ("files nisplus", .passcode), ("files sss", .never),
    ("files sss nis", nil),
  ])
  func `NIS hands out the hash, other directories do not`(sources: String, wanted: Opening?) throws {
    let more = ["/etc/nsswitch.conf": "passwd: \(sources)\n", "/etc/sssd/sssd.conf": "[sssd]\n"]
    #expect(try outcome("auth required pam_unix.so", of: "somebody", more).opening == wanted)
  }

  static let situations: [(auth: String, alice: Opening?, guest: Opening?)] = [
    ("auth required pam_unix.so", .passcode, .never),
    ("auth required pam_unix.so nullok", .passcode, .always),
    ("auth required pam_unix.so nullokabc", .passcode, .always),
    ("auth required pam_unix.so # nullok", .passcode, .never),
    ("auth sufficient pam_permit.so\nauth required pam_unix.so", .always, .always),
    ("auth required pam_deny.so", .never, .never),
    ("auth optional pam_permit.so", .always, .always),
    ("auth required pam_env.so", .never, .never),
    ("auth required pam_gone.so\nauth required pam_unix.so", .passcode, .never),
    ("auth sufficient pam_succeed_if.so user ingroup nopasswdlogin\nauth required pam_unix.so", .passcode, .always),
    ("auth requisite pam_succeed_if.so uid >= 1001 quiet\nauth required pam_unix.so nullok", .never, .always),
    (
      "auth [success=1 default=ignore] pam_succeed_if.so uid < 1001\nauth required pam_deny.so\n"
        + "auth required pam_unix.so", .passcode, .never
    ),
    ("auth sufficient pam_localuser.so", .always, .always),
    ("auth sufficient pam_wheel.so trust use_uid\nauth required pam_unix.so", .always, .never),
    (
      "auth required pam_faillock.so preauth\nauth sufficient pam_unix.so\nauth [default=die] pam_faillock.so authfail\n"
        + "auth required pam_deny.so", .passcode, .never
    ),
    ("auth sufficient pam_faillock.so authsucc", .always, .always),
    ("auth sufficient pam_fprintd.so\nauth required pam_unix.so", Opening([.biometric], [.passcode]), .never),
    ("auth required pam_fprintd.so\nauth required pam_unix.so", Opening([.biometric, .passcode]), .never),
    (
      "auth required pam_u2f.so authfile=/etc/u2f\nauth required pam_unix.so nullok", Opening([.passcode, .token]),
      .never
    ),
    (
      "auth sufficient pam_u2f.so authfile=/etc/u2f nouserok\nauth required pam_unix.so",
      Opening([.token], [.passcode]),
      .always
    ),
    (
      "auth required pam_u2f.so authfile=/etc/u2f nouserok\nauth required pam_unix.so", Opening([.passcode, .token]),
      .never
    ),
    ("auth required pam_google_authenticator.so nullok\nauth required pam_permit.so", Opening([.code]), .always),
    ("auth required pam_google_authenticator.so\nauth required pam_unix.so", Opening([.code, .passcode]), .never),
    ("auth required pam_unix.so\nauth optional pam_exec.so /x", .passcode, .never),
    ("auth required pam_unix.so\nauth required pam_exec.so /x", nil, .never),
    ("auth sufficient pam_exec.so /x\nauth required pam_unix.so", nil, nil),
    ("auth requisite pam_deny.so\nauth sufficient pam_exec.so /x", .never, .never),
    ("auth required pam_unix.so\nauth optional pam_gnome_keyring.so", .passcode, .never),
    ("auth sufficient pam_unix.so\nauth sufficient pam_sss.so\nauth required pam_deny.so", .passcode, .never),
    (
      "auth required pam_listfile.so item=user sense=deny file=/etc/none onerr=succeed\nauth required pam_unix.so",
      .passcode, .never
    ),
    // Nobody has asked for the password that is taken.
    ("auth required pam_unix.so use_first_pass", .never, .never),
    ("auth required pam_unix.so nullok use_first_pass", .never, .always),
    ("auth required pam_unix.so nullok try_first_pass", .passcode, .always),
    ("auth required pam_unix.so use_authtok", .passcode, .never),
    ("auth sufficient pam_fprintd.so\nauth required pam_unix.so use_first_pass", Opening([.biometric]), .never),
    ("auth optional pam_sss.so\nauth required pam_unix.so use_first_pass", .passcode, .never),
    ("auth optional pam_sss.so use_first_pass\nauth required pam_unix.so use_first_pass", .never, .never),
    (
      "auth [default=1] pam_permit.so\nauth optional pam_unix.so\nauth required pam_unix.so use_first_pass", .never,
      .never
    ),
    ("auth optional pam_unix.so\nauth required pam_unix.so use_first_pass", .passcode, .never),
    (
      "auth required pam_google_authenticator.so forward_pass\nauth required pam_unix.so use_first_pass",
      Opening([.code, .passcode]), .never
    ),
    ("auth include svc", nil, nil),
    ("auth sufficient pam_rootok.so\nauth required pam_unix.so", .passcode, .never),
    ("auth required pam_access.so\nauth required pam_unix.so", .passcode, .never),
  ]

  @Test(arguments: situations)
  func `a stack asks for these factors`(auth: String, alice: Opening?, guest: Opening?) throws {
    // Here the modules of a distribution are there, and pam_gone is not.
    for (name, expected) in [("alice", alice), ("guest", guest)] {
      let outcome = try outcome(auth, of: name) { $0.callerUID = 1000 }
      guard !auth.contains("pam_gone") else { continue }
      #expect(outcome.opening == expected, "\(name): \(outcome)")
      if expected == nil { #expect(outcome.cause != nil) }
      if expected == .always { #expect(outcome.cause != nil) }
      if outcome.opening?.answer == .required { #expect(!outcome.because.isEmpty) }
    }
  }

  @Test func `a module that is not installed fails its line`() throws {
    let modules = ["/usr/lib/security/pam_unix.so": "", "/usr/lib/security/pam_permit.so": ""]
    for line in ["auth required pam_gone.so", "-auth required pam_gone.so", "auth required pam_unix"] {
      #expect(try outcome("\(line)\nauth required pam_unix.so", modules).opening == .never)
    }
    #expect(try outcome("-auth optional pam_gone.so\nauth required pam_unix.so", modules).opening == .passcode)
  }

  @Test func `the version decides about the hash of nothing`() throws {
    let hash = "$6$Q2mZr8tLw1Xe$D7IZprw4z6gZ5VOdWQGQgsmsvGp2zXbR/bwuf2m1t0CEgA7xpyiHTV63njneh.XXnqGBgok/JZhuhfoUVSRti1"
    func opening(_ version: String, _ options: String) throws -> Opening? {
      let files = [
        "/etc/shadow": "alice:\(hash):19700:0:99999:7:::\n",
        "/var/lib/dpkg/status": "Package: libpam0g\nVersion: \(version)-1\n",
      ]
      return try outcome("auth required pam_unix.so \(options)", files).opening
    }
    #expect(try opening("1.5.2", "") == .always)
    #expect(try opening("1.6.1", "") == .never)
    #expect(try opening("1.6.1", "nullok") == .always)
    #expect(try opening("1.6.0", "nullok") == .never)
    #expect(try opening("1.6.0", "") == nil)
  }

  @Test func `pam_unix compares no hash of BSDi's`() throws {
    let files = ["/etc/shadow": "alice:_J9..rasmTB5D3hoAd8A:19700:0:99999:7:::\n"]
    #expect(try outcome("auth required pam_unix.so nullok", files).opening == .never)
  }

  @Test(arguments: [
    ("auth required pam_unix.so", Opening.never), ("auth sufficient pam_permit.so\nauth required pam_unix.so", .always),
    ("auth optional pam_unix.so\nauth required pam_permit.so", .always),
    ("auth sufficient pam_fprintd.so\nauth required pam_unix.so", Opening([.biometric])),
  ])
  func `no_pass_expiry forgives whom pam_unix has not let in`(auth: String, wanted: Opening) throws {
    let files = ["/etc/shadow": "alice:\(Self.hash):19700:0:60:7:30::\n"]
    let account = "account required pam_unix.so no_pass_expiry"
    #expect(try outcome(auth, account: account, files).opening == wanted)
    #expect(try outcome(auth, account: account, files) { $0.skipsAuthentication = true }.opening == .always)
  }

  @Test(arguments: [
    ("opensuse-leap", "suse opensuse", "15.6"), ("ol", "fedora", "9.4"), ("rocky", "rhel centos fedora", "9.4"),
  ])
  func `the release tells the version where no database does`(id: String, like: String, release: String) throws {
    let hash = "$6$Q2mZr8tLw1Xe$D7IZprw4z6gZ5VOdWQGQgsmsvGp2zXbR/bwuf2m1t0CEgA7xpyiHTV63njneh.XXnqGBgok/JZhuhfoUVSRti1"
    let tree = try FixtureTree([
      "/etc/passwd": Self.passwd, "/etc/shadow": "alice:\(hash):19700:0:99999:7:::\n",
      "/etc/os-release": "ID=\"\(id)\"\nID_LIKE=\"\(like)\"\nVERSION_ID=\"\(release)\"\n",
      "/etc/pam.d/svc": "auth required pam_unix.so\naccount required pam_unix.so\n",
    ])
    let system = try System(root: tree.root)
    let pam = PAM(system, Distribution(system), Accounts(system))
    #expect(pam.outcome(of: PAM.Call("svc"), for: pam.accounts["alice"]).opening == .always)
  }

  @Test func `the second folder came with 1_2`() throws {
    let stack = ["/usr/lib/pam.d/only": "auth required pam_unix.so\naccount required pam_unix.so\n"]
    for (version, wanted) in [("1.1.8", Opening.never), ("1.2.0", .passcode)] {
      let files = stack.merging(["/var/lib/dpkg/status": "Package: libpam0g\nVersion: \(version)-1\n"]) { $1 }
      #expect(try outcome("", files) { $0.service = "only" }.opening == wanted, "\(version)")
    }
  }

  // MARK: Security keys

  @Test func `nouserok is no success since 1_3_1`() throws {
    let stack = "auth sufficient pam_u2f.so authfile=/etc/u2f nouserok\nauth required pam_unix.so nullok"
    for (version, wanted) in [("1.3.0", Opening.always), ("1.3.1", .passcode), ("1.4.0", .passcode)] {
      let files = ["/var/lib/pacman/local/pam-u2f-\(version)-1/desc": "", "/etc/u2f": "bob:handle,key\n"]
      #expect(try outcome(stack, files).opening == wanted, "\(version)")
    }
  }

  static let keyFiles: [(conf: String?, arguments: String, version: String, Opening?)] = [
    (nil, "", "1.4.0", .never), ("authfile = /etc/u2f # all\n#\n", "", "1.4.0", Opening([.passcode, .token])),
    ("authfile=/etc/u2f\n", "", "1.3.2", .never), ("nouserok\n", "", "1.4.0", .passcode),
    ("authfile=/etc/u2f\n", "authfile=/etc/none", "1.4.0", .never), ("nouserok\n", "conf=/etc/none", "1.4.0", .never),
    ("nouserok\n", "conf=/etc/security/pam_u2f.conf", "1.4.0", .passcode), (" alwaysok \n", "", "1.4.0", .passcode),
  ]

  @Test(arguments: keyFiles)
  func `options of pam_u2f from its file`(conf: String?, arguments: String, version: String, wanted: Opening?) throws {
    var files = ["/var/lib/pacman/local/pam-u2f-\(version)-1/desc": ""]
    files["/etc/security/pam_u2f.conf"] = conf
    #expect(try outcome("auth required pam_u2f.so \(arguments)\nauth required pam_unix.so", files).opening == wanted)
  }

  /// In a tree that was unpacked by root everything is root's, and pam_u2f takes a mapping of root's anyway.
  @Test(arguments: [
    ("", "alice:handle,key\n", Opening([.passcode, .token])), ("nouserok", "bob:handle,key\n", .passcode),
    ("authfile=.keys", "alice:handle,key\n", Opening([.passcode, .token])),
  ])
  func `a mapping in the home`(arguments: String, text: String, wanted: Opening) throws {
    let files = Dictionary(
      uniqueKeysWithValues: [".config/Yubico/u2f_keys", ".keys"].map { ("/home/alice/\($0)", text) })
    let stack = "auth required pam_u2f.so \(arguments)\nauth required pam_unix.so"
    #expect(try outcome(stack, files).opening == wanted)
  }

  @Test(arguments: [
    (".other", "S\n", Opening.always), (".code", "S\n", Opening([.code])), (".code", "", .never),
    (".code/folder", "S\n", .never),
  ])
  func `nullok speaks of a missing file of codes alone`(name: String, text: String, wanted: Opening) throws {
    let stack = "auth required pam_google_authenticator.so nullok secret=~/.code\nauth required pam_permit.so"
    #expect(try outcome(stack, ["/home/alice/\(name)": text]).opening == wanted)
  }

  @Test func `a file that others may write is refused`() throws {
    let stack = "auth required pam_u2f.so\nauth required pam_unix.so\naccount required pam_permit.so\n"
    let tree = try FixtureTree(
      Self.files.merging(["/etc/pam.d/svc": stack, "/var/lib/pacman/local/pam-u2f-1.4.0-1/desc": ""]) { $1 })
    for (mode, wanted) in [(0o644, Opening.passcode), (0o664, .never), (0o646, .never)] as [(UInt32, Opening)] {
      try tree.write("/etc/security/pam_u2f.conf", "nouserok\n", mode: mode)
      let system = try System(root: tree.root)
      let pam = PAM(system, Distribution(system), Accounts(system))
      #expect(pam.outcome(of: PAM.Call("svc"), for: pam.accounts["alice"]).opening == wanted, "\(mode)")
    }
  }

  // MARK: Accounts of other files, and none of PAM's

  @Test func `pam_extrausers knows the people of its own files`() throws {
    let stack =
      "auth [success=1 default=ignore] pam_extrausers.so\nauth required pam_deny.so\nauth required pam_permit.so"
    let files = [
      "/etc/nsswitch.conf": "passwd: files extrausers\nshadow: files extrausers\n",
      "/var/lib/extrausers/passwd": "bob:x:1002:1002::/home/bob:/bin/sh\nguest:x:1001:1001::/home/guest:/bin/sh\n",
      "/var/lib/extrausers/shadow": "bob:\(Self.hash):19700:0:99999:7:::\n",
    ]
    #expect(try outcome(stack, of: "bob", files).opening == .passcode)
    #expect(try outcome(stack, of: "alice", files).opening == .never)
    // guest stands in both files, and the module looks at its own.
    #expect(try outcome(stack, of: "guest", files).opening == nil)
  }

  @Test func `a login without PAM compares with shadow itself`() throws {
    let program = String(repeating: "x", count: 5000)
    for (files, wanted) in [
      ([:], Opening.always), (["/bin/login": program], .always), (["/bin/login": program + "libpam.so.0"], .never),
      (["/usr/lib64/libpam.so.0": ""], .never), (["/lib/security/pam_unix.so": ""], .never),
      (["/bin/login": program, "/usr/lib64/libpam.so.0": ""], .always),
    ] as [([String: String], Opening)] {
      let tree = try FixtureTree(Self.files.merging(files) { $1 })
      let context = AuthContext(try System(root: tree.root))
      let login = LoginProgram("/bin/login", context)
      let outcome = login.outcome(for: context.accounts["guest"], terminals: ["tty1"])
      #expect(outcome.opening == wanted, "\(files.keys)")
    }
  }

  @Test func `flags, distance and a skipped authentication`() throws {
    let unix = "auth required pam_unix.so nullok"
    #expect(try outcome(unix, of: "guest") { $0.disallowsEmpty = true }.opening == .never)
    #expect(try outcome("auth sufficient pam_fprintd.so\n\(unix)") { $0.isRemote = true }.opening == .passcode)
    #expect(try outcome("auth required pam_deny.so") { $0.skipsAuthentication = true }.opening == .always)
    let expired = ["/etc/shadow": "alice:\(Self.hash):0:0:99999:7:::\nguest:*:19700:0:99999:7::1:\n"]
    let account = "account required pam_unix.so"
    #expect(try outcome(unix, account: account, expired) { $0.skipsAuthentication = true }.opening == .passcode)
    #expect(
      try outcome(unix, of: "guest", account: account, expired) { $0.skipsAuthentication = true }.opening == .never)
    #expect(try outcome("auth required pam_permit.so", account: account, expired).opening == .passcode)
    #expect(try outcome(unix, account: "") { $0.withAccountPhase = false }.opening == .passcode)
  }

  @Test func `somebody of a directory`() throws {
    let stack = "auth sufficient pam_unix.so\nauth sufficient pam_sss.so use_first_pass\nauth required pam_deny.so"
    #expect(try outcome(stack, of: "nobody here").opening == .passcode)
    let asked = "account [default=bad success=ok user_unknown=ignore] pam_sss.so"
    #expect(try outcome(stack, of: "nobody here", account: asked).opening == nil)
  }

  @Test func `pam conf and other stand in`() throws {
    let conf = "svc auth required pam_deny.so\nSVC2 auth required pam_unix.so\nother auth required pam_permit.so\n"
    func opening(_ service: String) throws -> Opening? {
      let tree = try FixtureTree(
        Self.files.merging(["/etc/pam.conf": conf + "other account required pam_permit.so\n"]) { $1 })
      let system = try System(root: tree.root)
      let pam = PAM(system, Distribution(system), Accounts(system))
      return pam.outcome(of: PAM.Call(service), for: pam.accounts["alice"]).opening
    }
    #expect(try opening("svc") == .never)
    #expect(try opening("/usr/bin/Svc2") == .passcode)
    #expect(try opening("unheard") == .always)
    let other = ["/etc/pam.d/other": "auth required pam_permit.so\naccount required pam_permit.so\n"]
    #expect(try outcome("", account: "session required pam_deny.so", other).opening == .always)
    #expect(try outcome("", account: "", ["/etc/pam.d/svc": ""]).opening == .never)
  }

  @Test(.timeLimit(.minutes(1)))
  func `hostile files cost little and are never an answer`() throws {
    // A flood of includes, each level twice the one above.
    var files: [String: String] = [:]
    for level in 0..<15 {
      files["/etc/pam.d/f\(level)"] = String(repeating: "auth include f\(level + 1)\n", count: 9)
    }
    files["/etc/pam.d/f15"] = "auth required pam_unix.so\n"
    #expect(try outcome("auth include f0", files).opening == nil)
    let loop = ["/etc/pam.d/a": "auth substack b\n", "/etc/pam.d/b": "auth include a\n"]
    let looping = try outcome("auth include a", loop)
    #expect(looping.opening == nil && looping.cause?.code == "pamLoop")
    let long = String(repeating: "auth [success=1 default=ignore] pam_exec.so x\n", count: 4000)
    #expect(try outcome(long + "auth required pam_permit.so").opening == nil)

    let tree = try FixtureTree(Self.files)
    tree.makeFIFO("/etc/pam.d/fifo")
    try tree.makeSparse("/etc/pam.d/huge", size: 1 << 34)
    try tree.write("/etc/pam.d/binary", [0x7f, 0x45, 0x4c, 0x46, 0, 0, 10])
    tree.link("/etc/pam.d/loop", to: "loop")
    tree.makeFolder("/etc/pam.d/folder")
    let system = try System(root: tree.root)
    let pam = PAM(system, Distribution(system), Accounts(system))
    for service in ["fifo", "huge", "binary", "loop", "folder"] {
      let outcome = pam.outcome(of: PAM.Call(service), for: pam.accounts["alice"])
      #expect(outcome.opening == nil, "\(service)")
      #expect(outcome.cause?.code == "unreadable", "\(service)")
    }
  }
}
