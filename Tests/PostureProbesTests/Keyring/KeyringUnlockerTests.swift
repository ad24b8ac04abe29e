import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// Programs that hand the login keyring its password without asking anybody.
struct KeyringUnlockerTests {
  private static let script = "/usr/local/libexec/unlock"
  private static let daemon = "runuser -u \"$PAM_USER\" -- gnome-keyring-daemon --unlock\n"
  private static let both = Opening([.device], [.passcode])

  private func tree(_ files: [String: String] = [:]) throws -> FixtureTree {
    let tree = try FixtureTree(files)
    try tree.addAlice()
    try tree.write("/usr/lib/security/pam_exec.so", "")
    try tree.write("/home/alice/.local/share/keyrings/login.keyring", KeyringGnomeTests.encrypted)
    return tree
  }

  private func keyring(_ tree: FixtureTree) throws -> Door {
    try #require(try tree.door("secrets@gnome-keyring:login"))
  }

  @Test(
    arguments: [
      ("systemd-creds decrypt /etc/k.cred - | \(daemon)", true, both),
      ("tpm2_unseal -c 0x81000000 | \(daemon)", true, both),
      ("P=$(/usr/bin/tpm2_unseal -c x)\nprintf %s \"$P\" | \(daemon)", true, both),
      ("systemd-creds decrypt /etc/k.cred - | \(daemon)", false, nil), ("cat /etc/k | \(daemon)", true, nil),
      ("systemd-creds decrypt /etc/k.cred - > /run/k\n", true, .passcode), ("# \(daemon)", true, .passcode),
      ("systemd-creds decrypt /etc/$PAM_USER.null - | \(daemon)", true, .always),
      ("systemd-creds decrypt /etc/host.cred - | \(daemon)", true, .always),
    ] as [(String, Bool, Opening?)])
  func `what a script of the session hands over`(text: String, hasTPM: Bool, opening: Opening?) throws {
    let tree = try tree([
      "/etc/pam.d/gdm-autologin": "session optional pam_exec.so quiet \(Self.script)\n",
      Self.script: "#!/bin/sh\n" + text,
      "/etc/alice.null": "BYRp2vb1QySABUnaD46i+yAAAAAB\n", "/etc/host.cred": "Whxqht+dQJax1aZeCGLxmAAAAAAB\n",
      "/var/lib/systemd/credential.secret": hasTPM ? "x" : "",
    ])
    if hasTPM {
      try tree.write("/sys/class/tpm/tpm0/tpm_version_major", "2\n")
    } else {
      unlink(tree.place("/var/lib/systemd/credential.secret"))
    }
    let door = try keyring(tree)
    #expect(door.opening == opening)
    let place = Place("/etc/pam.d/gdm-autologin", line: 1)
    #expect(door.because.last == (opening == .passcode ? door.because.first : Reason("keyring.unlockedAtLogin", place)))
  }

  @Test(arguments: [
    "auth optional pam_exec.so expose_authtok \(script)", "session optional pam_exec.so type=close_session \(script)",
    "session optional pam_gone.so \(script)",
    "session optional pam_exec.so /usr/bin/program",
  ])
  func `lines that hand over nothing of their own`(line: String) throws {
    let tree = try tree(["/etc/pam.d/login": "\(line)\n", Self.script: "#!/bin/sh\ntpm2_unseal -c x | \(Self.daemon)"])
    try tree.write("/usr/bin/program", "\u{7F}ELF\ngnome-keyring-daemon --unlock\n")
    try tree.write("/sys/class/tpm/tpm0/tpm_version_major", "2\n")
    #expect(try keyring(tree).opening == .passcode)
  }

  @Test func `a unit of the person's own service manager`() throws {
    let tree = try tree(["/sys/class/tpm/tpm0/tpm_version_major": "2\n"])
    let unit = "/home/alice/.config/systemd/user/unlock.service"
    try tree.write("/home/alice/bin/unlock", "#!/bin/sh\ntpm2_unseal -c x | gnome-keyring-daemon --unlock\n")
    for command in ["%h/bin/unlock", "/bin/sh -c 'systemd-creds decrypt %h/k - | gnome-keyring-daemon --unlock'"] {
      try tree.write(unit, "[Service]\nExecStart=\(command)\n")
      unlink(tree.place("/home/alice/.config/systemd/user/default.target.wants/unlock.service"))
      #expect(try keyring(tree).opening == .passcode)
      tree.link("/home/alice/.config/systemd/user/default.target.wants/unlock.service", to: "../unlock.service")
      #expect(try keyring(tree).opening == Self.both)
      #expect(try keyring(tree).cause?.code == "deviceBoundOnly")
    }
  }
}
