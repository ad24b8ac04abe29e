import Posture
import TestKit
import Testing

@testable import PostureProbes

/// What a new password has to satisfy, as the stack that `passwd` reaches has it.
struct PasswordPolicyTests {
  private static let modules = [
    "pwquality", "pwhistory", "unix", "deny", "permit", "faillock", "cracklib", "passwdqc", "tally2",
  ]

  private func policy(_ password: String, _ files: [String: String] = [:], version: String = "1.7.0-5") throws
    -> PasswordPolicy
  {
    var all = [
      "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "/etc/os-release": "ID=debian\nVERSION_ID=13\n",
      "/var/lib/dpkg/status": "Package: libpam0g\nVersion: \(version)\n",
      "/etc/pam.d/passwd": "@include common-password\n",
      "/etc/pam.d/common-password": password, "/etc/pam.d/login": "auth required pam_unix.so\n",
    ]
    for module in Self.modules { all["/usr/lib/x86_64-linux-gnu/security/pam_\(module).so"] = "" }
    let tree = try FixtureTree(all.merging(files) { $1 })
    let result = PasswordPolicyCheck.look(AuthContext(try System(root: tree.root)))
    return try #require(result.passwordPolicy)
  }

  private func value(_ rule: PasswordPolicy.Rule, _ name: String) -> JSON? {
    rule.values.first { $0.name == name }?.value
  }

  /// pam_unix as it asks for itself.
  private static let asking =
    "password [success=1 default=ignore] pam_unix.so\npassword requisite pam_deny.so\npassword required pam_permit.so\n"
  private static let after =
    "password [success=1 default=ignore] pam_unix.so obscure use_authtok yescrypt\npassword requisite pam_deny.so\n"
    + "password required pam_permit.so\n"

  @Test func `defaults, files and arguments, each stronger than the last`() throws {
    let line = "password requisite pam_pwquality.so retry=3"
    for (more, files, minlen) in [
      ("", [:], 8), ("", ["/etc/security/pwquality.conf": "# minlen = 20\nminlen = 14 # x\n"], 14),
      (
        "",
        [
          "/etc/security/pwquality.conf.d/a.conf": "minlen=15\n", "/etc/security/pwquality.conf.d/b.off": "minlen=30\n",
        ], 15
      ),
      (" minlen=9", ["/etc/security/pwquality.conf": "minlen = 14\n"], 9), (" minlen=3", [:], 6),
    ] as [(String, [String: String], Int64)] {
      let found = try policy("\(line)\(more)\n\(Self.after)", files)
      #expect(found.quality.enforced == true)
      #expect(value(found.quality, "minlen") == .integer(minlen), "\(more) \(files)")
      #expect(value(found.quality, "dictcheck") == .bool(true))
    }
  }

  @Test(arguments: [
    ("", false), ("# password requisite pam_pwquality.so\n", false),
    // A refusal that is passed over leaves pam_unix, which may not ask for itself, without a password.
    ("password optional pam_pwquality.so\n", true), ("password optional pam_pwquality.so\n\(asking)", false),
    ("password requisite pam_pwquality\n", false), ("password requisite pam_pwquality.so enforcing=0\n", false),
    // What pam_unix has stored stays stored, whatever is said of it afterwards.
    ("password required pam_unix.so\npassword required pam_pwquality.so\n", false),
    ("password required pam_pwquality.so\n", true), ("password [success=1 default=bad] pam_gone.so\n", false),
    ("password sufficient pam_permit.so\npassword requisite pam_pwquality.so\n", false),
    ("password requisite pam_passwdqc.so min=disabled,24,11,8,7\n", true),
    ("password requisite pam_passwdqc.so enforce=none\n", false),
    ("password requisite pam_passwdqc.so enforce=users\n", true),
  ])
  func `a rule is enforced where its refusal decides`(line: String, isEnforced: Bool) throws {
    #expect(try policy(line + Self.after).quality.enforced == isEnforced)
  }

  @Test func `pam_passwdqc reads the file that is named, where it is named`() throws {
    let files = [
      "/etc/passwdqc.conf": "enforce=none\n",
      "/etc/qc": "# x\nmin=disabled,24,16,14,12\nenforce=users\nconfig=/etc/qc\n",
    ]
    for (arguments, minlen, isForRoot) in [
      ("", 7, true), ("config=/etc/qc", 12, false), ("config=/etc/qc enforce=everyone", 12, true),
      ("enforce=everyone config=/etc/qc", 12, false), ("min=disabled,24,11,8,8", 8, true),
    ] as [(String, Int64, Bool)] {
      let found = try policy("password requisite pam_passwdqc.so \(arguments)\n" + Self.after, files).quality
      #expect(found.enforced == true)
      #expect(value(found, "minlen") == .integer(minlen), "\(arguments)")
      #expect(value(found, "enforceForRoot") == .bool(isForRoot), "\(arguments)")
    }
  }

  @Test func `a module that is not installed enforces nothing`() throws {
    let lines = "password requisite pam_passwdqc2.so\npassword requisite pam_pwquality.so\n"
    #expect(try policy("password optional /gone/pam_pwquality.so\n" + Self.after).quality.enforced == false)
    #expect(try policy(lines + Self.after).quality.enforced == true)
  }

  @Test func `old passwords by either module`() throws {
    let line = "password required pam_pwhistory.so use_authtok"
    let file = ["/etc/security/pwhistory.conf": "remember = 24\n"]
    for (text, files, version, remember) in [
      (line, [:], "1.7.0-5", 10), ("\(line) remember=5", file, "1.7.0-5", 5), (line, file, "1.7.0-5", 24),
      (line, file, "1.5.2-6", 10), ("password required pam_unix.so remember=7", [:], "1.7.0-5", 7),
    ] as [(String, [String: String], String, Int64)] {
      let found = try policy(text + "\n" + Self.after, files, version: version).history
      #expect(found.enforced == true)
      #expect(value(found, "remember") == .integer(remember), "\(text) \(version)")
    }
    #expect(try policy(Self.after).history.enforced == false)
    #expect(try policy("\(line) remember=0\n" + Self.after).history.enforced == false)
  }

  @Test func `lockout needs both its lines`() throws {
    let both =
      "auth required pam_faillock.so preauth\nauth sufficient pam_unix.so\nauth [default=die] pam_faillock.so authfail deny=4\n"
    let conf = ["/etc/security/faillock.conf": "deny = 9\nunlock_time = 0\neven_deny_root\n"]
    let found = try policy(Self.after, ["/etc/pam.d/login": both].merging(conf) { $1 }).lockout
    #expect(found.enforced == true)
    #expect(value(found, "deny") == .integer(4))
    #expect(value(found, "evenDenyRoot") == .bool(true))
    #expect(
      try policy(Self.after, ["/etc/pam.d/login": "auth required pam_faillock.so preauth\nauth required pam_unix.so\n"])
        .lockout
        .enforced == false)
    let tally = "auth required pam_tally2.so onerr=fail deny=5 unlock_time=900\nauth required pam_unix.so\n"
    let older = try policy(Self.after, ["/etc/pam.d/login": tally].merging(conf) { $1 }, version: "1.3.1-5").lockout
    #expect(older.enforced == true)
    #expect(value(older, "deny") == .integer(5) && value(older, "unlockTime") == .integer(900))
    #expect(value(older, "failInterval") == .null && value(older, "evenDenyRoot") == .bool(false))
    let counting = tally.replacing("deny=5 ", with: "")
    #expect(try policy(Self.after, ["/etc/pam.d/login": counting], version: "1.3.1-5").lockout.enforced == false)
    let off = both.replacing("deny=4", with: "deny=0")
    #expect(try policy(Self.after, ["/etc/pam.d/login": off]).lockout.enforced == false)
  }
}
