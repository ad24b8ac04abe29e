import Posture
@testable import PostureProbes
import TestKit
import Testing

/// Rows of passwd(5) and shadow(5), and what they make of an account.
struct AccountsTests {
  /// Seconds of 2026-01-01.
  private static let now: Int64 = 1_767_225_600
  private static let day = Int(now / 86_400)

  private func accounts(_ files: [String: String]) throws -> Accounts {
    let tree = try FixtureTree(files)
    return Accounts(try System(root: tree.root, now: Self.now))
  }

  private func alice(_ field: String, shadow: String?) throws -> Account {
    let row = shadow.map { "alice:\($0)\n" } ?? ""
    let all = try accounts([
      "/etc/passwd": "alice:\(field):1000:1000::/home/alice:/bin/bash\n", "/etc/shadow": "root:*:1::::::\n\(row)",
      "/etc/group": "users:x:1000:\nwheel:x:10:bob,alice\n",
    ])
    return try #require(all["alice"])
  }

  private static let sha512 =
    "$6$Q2mZr8tLw1Xe$hCwJPjmxe4KZVqTsTM9ldcRba9Y.YS.d22eoaTWOhW2uxFhEy1UzwIkmzs0LA6PTm4vJpi5ev7/3Ah87dB6Kq."
  private static let emptySHA512 =
    "$6$Q2mZr8tLw1Xe$D7IZprw4z6gZ5VOdWQGQgsmsvGp2zXbR/bwuf2m1t0CEgA7xpyiHTV63njneh.XXnqGBgok/JZhuhfoUVSRti1"

  static let fields: [(String, Subject.Password, String?)] = [
    ("", .empty, nil), ("!", .locked, nil), ("!!", .locked, nil), ("*", .locked, nil), ("!*", .locked, nil),
    ("!\(sha512)", .locked, nil), ("!locked", .locked, nil), ("x", .unmatchable, nil), ("NP", .unmatchable, nil),
    ("*NP*", .unmatchable, nil), ("LK", .unmatchable, nil), (" ", .unmatchable, nil), (sha512, .set, "sha512crypt"),
    (emptySHA512, .emptyHash, "sha512crypt"), ("xQ.oDUO3JLgPA", .set, "descrypt"),
    ("xQ.oDUO3JLgPA,..A", .set, "descrypt"), ("xQ.oDUO3JLgPAabcdefghijk", .set, "bigcrypt"),
    ("xQ.oDUO3JLgPAabc", .unmatchable, nil), (String(sha512.dropLast()), .unmatchable, "sha512crypt"),
    ("$2b$05$bvIG6Nmid91Mu9RcmmWZfO5HJIMCT8riNW0hEp8f6/FuA2/mHZFpe", .set, "bcrypt"),
    ("$6$rounds=999999999$abcdefgh$\(sha512.suffix(86))", .unreadable, "sha512crypt"),
    ("$2b$31$bvIG6Nmid91Mu9RcmmWZfO5HJIMCT8riNW0hEp8f6/FuA2/mHZFpe", .unreadable, "bcrypt"),
    ("$y$jFT$UGWDVwYp7gqNMYzZ1VVyj1$Oe9u7ebvlHzU2ad2lTeNpxliCL309E.gbljmFEhiVE2", .unreadable, "yescrypt"),
    ("$y$j9T$UGWDVwYp7gqNMYzZ1VVyj1$Oe9u7ebvlHzU2ad2lTeNpxliCL309E.gbljmFEhiVE2", .set, "yescrypt"),
  ]

  @Test(.timeLimit(.minutes(1)), arguments: fields)
  func `a hash field has its state, wherever it stands`(
    field: String, password: Subject.Password, scheme: String?
  ) throws {
    let shadowed = try alice("x", shadow: "\(field):19700:0:99999:7:::")
    #expect(shadowed.password == password)
    if password != .unmatchable { #expect(shadowed.scheme == scheme) }
    #expect(!shadowed.isUnshadowed)
    if field != "x" {
      let own = try alice(field, shadow: "*:19700:0:99999:7:::")
      #expect(own.password == password)
      #expect(own.isUnshadowed)
    }
  }

  @Test func `passwd's x and its two crosses ask shadow`() throws {
    #expect(try alice("x", shadow: nil).password == .none)
    #expect(try alice("x", shadow: nil).hasNoShadowRow)
    #expect(try alice("##alice", shadow: "!:1::::::").password == .locked)
    #expect(try alice("##bob", shadow: "!:1::::::").password == .unmatchable)
    // The C library passes over rows that are cut short, or hold no number.
    #expect(try alice("x", shadow: "*").password == .none)
    #expect(try alice("x", shadow: "*:never:0:9:7:::").password == .none)
    #expect(try alice("x", shadow: "*:-1:0:9:7:::").password == .none)
    #expect(try alice("x", shadow: "*:1:0:9:7:9223372036854775807::").password == .none)
    #expect(try alice("x", shadow: "*:1:0:9:7::").password == .none)
  }

  @Test(arguments: [
    ("19700:0:99999:7:::", Subject.Account.active), ("0:0:99999:7:::", .mustChange), (":0:10:7:::", .active),
    ("19700:0:60:7:::", .mustChange), ("19700:0:60:7:30::", .passwordExpired),
    ("19700:0:60:7:4294967295::", .mustChange), ("19700:0:99999:7::1:", .expired),
    ("19700:0:99999:7::0:", .expired), ("\(day + 9):0:0:7:0::", .active),
    ("\(day):0:1:7:::", .active), ("\(day - 1):0:1:7:::", .mustChange), ("19700:0:99999:7::\(day + 1):", .active),
    ("19700:0:99999:7::\(day):", .expired), ("19700:0:0:7:::", .mustChange),
  ])
  func `age and expiry as pam_unix reckons them`(rest: String, account: Subject.Account) throws {
    for hash in [Self.sha512, "*"] { #expect(try alice("x", shadow: "\(hash):\(rest)").account == account) }
  }

  @Test func `owners, root and services`() throws {
    let all = try accounts([
      "/etc/passwd": """
      root:x:0:0:root:/root:/bin/sh
      toor::0:0::/root:/bin/sh
      low:x:499:499::/:/bin/bash
      first:x:500:500::/home/first:/bin/bash
      shut:x:501:501::/home/shut:/usr/sbin/nologin
      plain:x:502:502::/home/plain:
      high:x:60001:60001::/home/high:/bin/bash
      first:x:503:503::/home/other:/bin/bash
      short:x:504
      +nis::::::
      """,
      "/etc/login.defs": "# people\nUID_MIN\t 500\nUID_MAX 600\n",
    ])
    #expect(all.owners.map(\.name) == ["first", "plain"])
    #expect(all.people.map(\.name) == ["root", "toor", "first", "plain"])
    #expect(all["first"]?.home == "/home/first")
    #expect(all["shut"]?.account == .noShell)
    #expect(all["short"] == nil)
    #expect(all.externalSources.isEmpty)
  }

  @Test func `groups by member and by primary group`() throws {
    let account = try alice("x", shadow: "*:1::::::")
    #expect(account.groups == ["users", "wheel"])
  }

  @Test(arguments: [
    ("files sss", "", []), ("files sss", "/etc/sssd/sssd.conf", ["external:sss"]),
    // Who is not in the files is looked for no further.
    ("files [NOTFOUND=return] ldap", "", []), ("files [!SUCCESS=return] ldap", "", []),
    ("files [ UNAVAIL=return notfound=return ] ldap", "", []), ("files [!NOTFOUND=return] ldap", "", ["external:ldap"]),
    ("files [SUCCESS=return] ldap", "", ["external:ldap"]), ("files systemd winbind", "", ["external:winbind"]),
    ("compat", "", ["external:nis"]), ("files", "", []), ("compat\npasswd_compat: ldap", "", ["external:ldap"]),
    ("compat\npasswd_compat: sss", "", []), ("compat ldap\npasswd_compat: ldap", "", ["external:ldap"]),
  ])
  func `directories are subjects of their own`(line: String, file: String, subjects: [String]) throws {
    var files = ["/etc/passwd": "root:x:0:0::/:/bin/sh\n+::::::\n", "/etc/nsswitch.conf": "passwd: \(line) # x\n"]
    if !file.isEmpty { files[file] = "" }
    let all = try accounts(files)
    #expect(all.result.subjects.filter { $0.kind == .external }.map(\.name) == subjects)
  }

  @Test func `records of homed and of userdb, and what is locked in them`() throws {
    let all = try accounts([
      "/etc/passwd": "root:x:0:0::/:/bin/sh\n", "/etc/nsswitch.conf": "passwd: files systemd\nshadow: files systemd\n",
      "/var/lib/systemd/home/frida.identity":
        #"{"userName":"frida","uid":60100,"storage":"luks","memberOf":["wheel"],"privileged":{"hashedPassword":["x"]}}"#,
      "/var/lib/systemd/home/broken.identity": "{",
      "/etc/userdb/jo.user": #"{"userName":"jo","uid":1500,"disposition":"regular","locked":true}"#,
      "/etc/userdb/jo.user-privileged": #"{"privileged":{"hashedPassword":["\#(Self.sha512)"]}}"#,
      "/etc/userdb/1500.user": #"{"userName":"jo","uid":1500}"#,
    ])
    let frida = try #require(all["frida"])
    #expect(frida.kind == .owner && frida.password == .external && frida.isHomeEncrypted)
    #expect(frida.homed == .passcode && frida.isMember(of: "wheel"))
    let jo = try #require(all["jo"])
    #expect(jo.password == .set && jo.account == .expired && jo.kind == .owner)
    #expect(all.result.gaps.map(\.cause.observed).contains { $0.contains("broken.identity") })
  }

  @Test func `members by a file of userdb, of groups that there are`() throws {
    let files = [
      "/etc/passwd": "alice:x:1000:1000::/home/alice:/bin/sh\n", "/etc/group": "wheel:x:10:\n",
      "/etc/userdb/alice:wheel.membership": "", "/usr/lib/userdb/alice:ops.membership": "{}",
      "/run/userdb/alice:gone.membership": "", "/etc/userdb/ops.group": #"{"groupName":"ops","gid":1500}"#,
      "/etc/userdb/1500.group": #"{"groupName":"ops","gid":1500}"#,
    ]
    for (line, groups) in [("files systemd", ["wheel", "ops"]), ("files", [])] as [(String, Set<String>)] {
      let all = try accounts(files.merging(["/etc/nsswitch.conf": "passwd: files\ngroup: \(line)\n"]) { $1 })
      #expect(all["alice"]?.groups == groups, "\(line)")
    }
  }

  @Test func `the first row of shadow counts, whatever file the account stands in`() throws {
    let files = [
      "/etc/passwd": "alice:x:1000:1000::/home/alice:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n",
      "/etc/shadow": "bob:!:1::::::\ncarol::1::::::\n",
      "/var/lib/extrausers/passwd": "carol:x:1002:1002::/home/carol:/bin/sh\n",
      "/var/lib/extrausers/shadow": "alice::1::::::\nbob::1::::::\ncarol:!:1::::::\n",
    ]
    for (line, passwords) in [
      ("files extrausers", [.empty, .locked, .empty]), ("extrausers files", [.empty, .empty, .locked]),
      ("files", [.none, .locked, .empty]),
    ] as [(String, [Subject.Password])] {
      let all = try accounts(
        files.merging(["/etc/nsswitch.conf": "passwd: files extrausers\nshadow: \(line)\n"]) { $1 })
      #expect(["alice", "bob", "carol"].map { all[$0]?.password } == passwords, "\(line)")
    }
  }

  @Test func `a file of shadow for each account`() throws {
    let files = [
      "/etc/passwd": "alice:x:1000:1000::/home/alice:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n",
      "/etc/shadow": "alice:!:1::::::\nbob:!:1::::::\n", "/etc/tcb/alice/shadow": "bob::1::::::\nalice::1::::::\n",
    ]
    for (line, passwords) in [
      ("tcb files", [.empty, .locked]), ("tcb", [.empty, .none]), ("files tcb", [.locked, .locked]),
      ("files", [.locked, .locked]),
    ] as [(String, [Subject.Password])] {
      let all = try accounts(files.merging(["/etc/nsswitch.conf": "shadow: \(line)\n"]) { $1 })
      #expect(["alice", "bob"].map { all[$0]?.password } == passwords, "\(line)")
    }
    let tree = try FixtureTree(files.merging(["/etc/nsswitch.conf": "shadow: tcb\n"]) { $1 })
    tree.link("/etc/tcb/bob/shadow", to: "shadow")
    let all = Accounts(try System(root: tree.root))
    #expect(all["bob"]?.password == .unreadable && all.result.gaps.map(\.checks) == [[.passcode]])
  }

  @Test func `databases that cannot be read are gaps`() throws {
    let tree = try FixtureTree(["/etc/group": "x:x:1:\n"])
    #expect(Accounts(try System(root: tree.root)).result.gaps.first?.checks.contains(.passcode) == true)
    tree.link("/etc/passwd", to: "passwd")
    #expect(Accounts(try System(root: tree.root)).result.gaps.count == 1)
    let binary = try FixtureTree()
    try binary.write("/etc/passwd", [0, 1, 2, 10])
    #expect(Accounts(try System(root: binary.root)).result.gaps.count == 1)
    let huge = try FixtureTree(["/etc/passwd": "root:x:0:0::/:/bin/sh\n"])
    try huge.makeSparse("/etc/shadow", size: 1 << 34)
    let all = Accounts(try System(root: huge.root))
    #expect(all["root"]?.password == .unreadable)
    #expect(all.result.gaps.map(\.checks) == [[.passcode]])
  }

  @Test func `one empty password is one finding, whatever opens by it`() throws {
    let people = try PeopleTree(services: ["login", "sudo", "su"])
    try people.tree.write("/sbin/init", "")
    try people.tree.write("/usr/lib/systemd/system/getty@.service", "[Service]\nExecStart=-/sbin/agetty - linux\n")
    try people.tree.write("/etc/sudoers", "%sudo ALL=(ALL) ALL\n", mode: 0o440)
    try people.tree.write("/etc/shadow", "alice::19700:0:99999:7:::\n")
    let evidence = Judge.evidence(of: try people.facts, under: .entry)
    let findings = evidence.findings.filter { $0.code == "emptyPassword" }
    #expect(findings.count == 1 && findings.first?.severity == .high)
    let checks = evidence.checks.filter { $0.findings.contains(findings[0].id) }.map(\.name)
    #expect(checks == [.passcode, .ownerAuthentication, .elevation])
  }
}
