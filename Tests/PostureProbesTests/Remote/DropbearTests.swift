import Posture
import TestKit
import Testing

@testable import PostureProbes

struct DropbearTests {
  private static let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExamp a@example\n"

  private func dropbear(_ files: [String: String] = [:], root: String = PeopleTree.hash) throws -> FixtureTree {
    let tree = try FixtureTree([
      "/etc/passwd": "root:x:0:0:root:/root:/bin/ash\n", "/etc/group": "root:x:0:\n",
      "/etc/shadow": "root:\(root):1::::::\n", "/usr/sbin/dropbear": "",
    ])
    for (path, text) in files { try tree.write(path, text) }
    return tree
  }

  private func answer(_ tree: FixtureTree) throws -> String {
    let door = AuthPolicyProbe().run(on: try System(root: tree.root)).doors
      .first { $0.name == "ssh@dropbear" && $0.subject == "root" }
    guard let door else { return "absent" }
    guard door.answer == .required else { return door.answer.rawValue }
    return door.opening?.sets.map { $0.factors.map(\.name).joined(separator: "+") }.joined(separator: "|") ?? ""
  }

  @Test(arguments: [
    ("", "passcode"), ("-s", "closed"), ("-g", "closed"), ("-w", "closed"), ("-RB -p 22", "passcode"),
    ("-p 22 -sg", "closed"), ("-G wheel", "closed"), ("-G root", "passcode"), ("-b -s", "passcode"), ("-t", "closed"),
  ])
  func `options`(_ options: String, _ wanted: String) throws {
    #expect(try answer(dropbear(["/etc/default/dropbear": "DROPBEAR_EXTRA_ARGS=\"\(options)\"\n"])) == wanted)
    #expect(try answer(dropbear(["/etc/conf.d/dropbear": "DROPBEAR_OPTS='\(options)'\n"])) == wanted)
  }

  @Test func `its version decides where passwd and shadow differ`() throws {
    for (field, hash, wanted) in [
      ("", PeopleTree.hash, "unknown"), ("*", PeopleTree.hash, "unknown"), (PeopleTree.hash, "!", "unknown"),
      ("*", "!", "closed"), (PeopleTree.hash, PeopleTree.hash, "passcode"),
    ] {
      let files = ["/etc/passwd": "root:\(field):0:0:root:/root:/bin/ash\n"]
      #expect(try answer(dropbear(files, root: hash)) == wanted, "\(field) \(hash)")
    }
  }

  @Test func `an empty password needs -B, or OpenWrt`() throws {
    #expect(try answer(dropbear(root: "")) == "closed")
    #expect(try answer(dropbear(["/etc/default/dropbear": "DROPBEAR_EXTRA_ARGS=\" -B\"\n"], root: "")) == "notRequired")
    let openwrt = "config dropbear\n\toption PasswordAuth 'on'\n\toption RootPasswordAuth 'on'\n"
    #expect(try answer(dropbear(["/etc/config/dropbear": openwrt], root: "")) == "notRequired")
  }

  @Test func `the empty password is the cause, whichever door it opens`() throws {
    let tree = try dropbear(["/etc/default/dropbear": "DROPBEAR_EXTRA_ARGS=-B\n"], root: "")
    let evidence = Judge.evidence(of: AuthPolicyProbe().run(on: try System(root: tree.root)), under: .entry)
    let named = Set([CheckName.passcode, .remoteEntry].map { evidence[$0]?.findings ?? [] })
    #expect(named.count == 1 && evidence.findings.first?.code == "emptyPassword")
  }

  @Test func `one that was built with PAM asks its stack`() throws {
    let built = [
      "/usr/sbin/dropbear": "\u{7F}ELF libpam.so.0", "/etc/pam.d/dropbear": "auth required pam_unix.so nullok\n",
      "/etc/pam.d/other": "auth required pam_deny.so\naccount required pam_deny.so\n",
      "/usr/lib/x86_64-linux-gnu/security/pam_unix.so": "", "/usr/lib/x86_64-linux-gnu/security/pam_deny.so": "",
    ]
    let account = ["/etc/pam.d/dropbear": "auth required pam_unix.so nullok\naccount required pam_unix.so\n"]
    #expect(try answer(dropbear(built, root: "")) == "closed")
    #expect(try answer(dropbear(built.merging(account) { $1 }, root: "")) == "notRequired")
    let refused = ["/etc/default/dropbear": "DROPBEAR_EXTRA_ARGS=-s\n"].merging(account) { $1 }
    #expect(try answer(dropbear(built.merging(refused) { $1 }, root: "")) == "closed")
  }

  @Test(arguments: [
    ("option PasswordAuth '0'", "token"), ("option RootPasswordAuth 'off'", "token"), ("option enable '0'", "absent"),
    ("option RootLogin '0'", "closed"), ("option Port '22'", "passcode|token"),
    ("option PasswordAuth 'off'\nconfig dropbear other\noption Port 2222", "passcode|token"),
    ("option PasswordAuth 'off'\nconfig system\noption PasswordAuth 'on'", "token"),
  ])
  func `OpenWrt's settings`(_ settings: String, _ wanted: String) throws {
    let tree = try dropbear([
      "/etc/config/dropbear": "config dropbear\n\(settings)\n", "/etc/dropbear/authorized_keys": Self.key,
    ])
    #expect(try answer(tree) == wanted)
  }

  @Test func `keys, and both together`() throws {
    let keys = ["/root/.ssh/authorized_keys": Self.key]
    #expect(try answer(dropbear(keys)) == "passcode|token")
    #expect(
      try answer(dropbear(keys.merging(["/etc/default/dropbear": "DROPBEAR_EXTRA_ARGS=-t\n"]) { $1 }))
        == "passcode+token")
    #expect(try answer(dropbear(keys.merging(["/etc/shells": "/bin/sh\n"]) { $1 })) == "closed")
  }

  @Test func `started by init, with its options`() throws {
    let line = ["/etc/inittab": "::sysinit:/etc/init.d/rcS\n::respawn:/usr/sbin/dropbear -F -R -B\n"]
    #expect(try answer(dropbear(line, root: "")) == "notRequired")
    #expect(try answer(dropbear(line.merging(["/etc/rcS.d/S10mount": ""]) { $1 }, root: "")) == "notRequired")
    #expect(try answer(dropbear(["/etc/inittab": "::respawn:/usr/sbin/dropbear -F -s\n"])) == "closed")
    #expect(try answer(dropbear(["/etc/inittab": "d:0:off:/usr/sbin/dropbear\n", "/etc/rc2.d/S01x": ""])) == "absent")
  }

  @Test(arguments: [("1", "absent"), ("0", "passcode")])
  func `Debian's script may be told not to start it`(_ value: String, _ wanted: String) throws {
    let files = ["/etc/default/dropbear": "NO_START=\(value)\n", "/etc/rc2.d/S01dropbear": ""]
    #expect(try answer(dropbear(files)) == wanted)
  }

  @Test(arguments: [
    ("DROPBEAR_ARGS=\"-B\"\nstart-stop-daemon -S -x /usr/sbin/dropbear -- $DROPBEAR_ARGS\n", "notRequired"),
    ("start-stop-daemon -S -x /usr/sbin/dropbear -- -p 22 -RBw\n", "closed"),
    (
      "case $1 in\nstop) start-stop-daemon -K -x /usr/sbin/dropbear\n;;\nstart) /usr/sbin/dropbear -R -B\nesac\n",
      "notRequired"
    ),
    ("echo dropbear -B\nstart-stop-daemon -S -x /usr/sbin/dropbear\n", "closed"),
  ])
  func `options within the start script`(_ text: String, _ wanted: String) throws {
    #expect(try answer(dropbear(["/etc/init.d/S50dropbear": "#!/bin/sh\n" + text], root: "")) == wanted)
  }

  @Test func `options of the unit`() throws {
    let tree = try dropbear([
      "/usr/lib/systemd/system/dropbear.service":
        "[Service]\nEnvironmentFile=-/etc/default/dropbear\nExecStart=/usr/sbin/dropbear -EF -p \"$PORT\" $DROPBEAR_EXTRA_ARGS\n",
      "/etc/default/dropbear": "PORT=22\nDROPBEAR_EXTRA_ARGS=\"-w\"\n",
    ])
    #expect(try answer(tree) == "closed")
  }
}

struct OtherRemoteTests {
  private func doors(_ files: [String: String]) throws -> [String] {
    let people = try PeopleTree(files)
    return try people.facts.doors.filter { $0.name.hasPrefix("remote@") && $0.opening == nil && $0.subject == "*" }.map(
      \.name)
  }

  @Test func `what is started and not modelled is unknown`() throws {
    #expect(try doors([:]).isEmpty)
    #expect(try doors(["/usr/lib/systemd/system/cockpit.socket": "[Socket]\n"]) == ["remote@cockpit"])
    #expect(try doors(["/usr/lib/systemd/system/pveproxy.service": "[Service]\n"]) == ["remote@proxmox"])
    #expect(
      try doors(["/usr/lib/systemd/system/openmediavault-engined.service": "[Service]\n"]) == ["remote@openmediavault"])
    #expect(try doors(["/etc/init.d/uhttpd": ""]).isEmpty)
    #expect(try doors(["/etc/init.d/uhttpd": "", "/www/cgi-bin/luci": ""]) == ["remote@luci"])
    #expect(
      try doors(["/etc/inetd.conf": "#shell x\ntelnet stream tcp nowait root /usr/sbin/telnetd\n"]) == ["remote@telnet"]
    )
    #expect(try doors(["/etc/xinetd.d/login": "service login\n{\n disable = yes\n}\n"]).isEmpty)
    #expect(try doors(["/etc/xinetd.d/login": "service login\n{\n disable = no\n}\n"]) == ["remote@rlogin"])
    #expect(try doors(["/etc/inittab": "::respawn:/usr/sbin/telnetd -F\n"]).contains("remote@telnet"))
  }

  private static let gdm = ["/usr/lib/systemd/system/gdm.service": "[Service]\nExecStart=/usr/sbin/gdm3\n"]
  private static let lightdm = ["/usr/lib/systemd/system/lightdm.service": "[Service]\nExecStart=/usr/sbin/lightdm\n"]
  private static let xdmcp = "[XDMCPServer]\nenabled=true\n"
  private static let vnc = "[VNCServer]\nenabled=true\n"

  /// A file of a display manager that is not started, or that it does not read, opens nothing.
  @Test(arguments: [
    (gdm, ["/etc/gdm3/daemon.conf": "[xdmcp]\nEnable=true\n"], ["xdmcp"]),
    (gdm, ["/etc/gdm3/daemon.conf": "[daemon]\nEnable=true\n"], []),
    (gdm, ["/etc/gdm/custom.conf": "[xdmcp]\nEnable=true\n"], []),
    (gdm, ["/etc/lightdm/lightdm.conf": xdmcp + vnc, "/usr/bin/Xvnc": ""], []),
    ([:], ["/etc/gdm3/daemon.conf": "[xdmcp]\nEnable=true\n"], []),
    (lightdm, ["/etc/lightdm/lightdm.conf.d/50-x.conf": xdmcp], ["xdmcp"]),
    (lightdm, ["/usr/share/lightdm/lightdm.conf.d/50-x.conf": vnc, "/usr/bin/Xvnc": ""], ["vnc"]),
    (lightdm, ["/etc/lightdm/lightdm.conf": vnc], []),
    (lightdm, ["/etc/lightdm/lightdm.conf": "[XDMCPServer]\nenabled=1\n"], []),
    (
      lightdm,
      ["/etc/lightdm/lightdm.conf.d/50-x.conf": xdmcp, "/etc/lightdm/lightdm.conf": "[XDMCPServer]\nenabled=false\n"],
      []
    ),
  ])
  func `greeters over the network`(
    _ manager: [String: String], _ files: [String: String], _ services: [String]
  ) throws {
    let system = ["/usr/lib/systemd/systemd": ""].merging(manager) { $1 }
    #expect(try doors(system.merging(files) { $1 }) == services.map { "remote@\($0)" })
  }

  @Test func `programs that start under other names`() throws {
    func unit(_ command: String) -> [String: String] {
      ["/usr/lib/systemd/systemd": "", "/etc/systemd/system/own.service": "[Service]\nExecStart=\(command)\n"]
    }
    #expect(try doors(unit("/usr/bin/ttyd -p 7681 bash")) == ["remote@ttyd"])
    #expect(try doors(unit("/bin/sh -c \"exec x11vnc -nopw\"")) == ["remote@vnc"])
    #expect(try doors(unit("/usr/bin/telnet host")).isEmpty)
    #expect(try doors(["/etc/init.d/S50telnet": ""]) == ["remote@telnet"])
  }

  @Test(arguments: [
    ("{\"profile-1\": \"eyJSdW5TU0giOnRydWV9\"}", true), ("{\"profile-1\": \"eyJSdW5TU0giOmZhbHNlfQ==\"}", false),
    ("{\"_machinekey\": \"eyJSdW5TU0giOnRydWV9\"}", false), ("?", true),
  ])
  func `Tailscale's own shell`(_ state: String, _ isOn: Bool) throws {
    let files = ["/usr/sbin/tailscaled": "", "/var/lib/tailscale/tailscaled.state": state]
    #expect(try doors(files) == (isOn ? ["remote@tailscale"] : []))
    #expect(try doors(["/usr/sbin/tailscaled": ""]).isEmpty)
  }

  @Test(arguments: [
    ([], true), (["/usr/share/initramfs-tools/hooks/dropbear"], false),
    (["/usr/share/initramfs-tools/hooks/dropbear", "/etc/init.d/dropbear"], true),
  ])
  func `the program of the initial RAM disk alone is nothing dormant`(others: [String], isDormant: Bool) throws {
    let people = try PeopleTree(["/usr/sbin/dropbear": "", "/usr/lib/systemd/system/x.service": ""])
    for path in others { try people.tree.write(path, "") }
    people.tree.link("/etc/systemd/system/multi-user.target.wants/x.service", to: "/lib/systemd/system/x.service")
    #expect(try people.codes().contains("dormantDoor") == isDormant)
  }

  @Test func `installed but not started is dormant`() throws {
    let people = try PeopleTree([
      "/usr/lib/systemd/system/xrdp.service": "[Service]\n", "/usr/lib/systemd/system/x.service": "",
    ])
    people.tree.link("/etc/systemd/system/multi-user.target.wants/x.service", to: "/lib/systemd/system/x.service")
    #expect(try people.answer("remote@xrdp", "*") == "absent")
    #expect(try people.codes().contains("dormantDoor"))
  }
}
