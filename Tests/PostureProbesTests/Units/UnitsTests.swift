import Posture
import TestKit
import Testing

@testable import PostureProbes

struct UnitsTests {
  private static let stock = "[Service]\nExecStart=-/sbin/agetty -o '-p -- \\\\u' --noclear %I $TERM\n"

  private func words(_ units: Units, _ name: String) -> [String] {
    units.unit(name)?.commands().map { $0.words.joined(separator: "|") } ?? []
  }

  @Test func `instances take the template, their name in it, and quoting is undone`() throws {
    let tree = try FixtureTree(["usr/lib/systemd/system/getty@.service": Self.stock])
    let units = Units(try System(root: tree.root))
    #expect(words(units, "getty@tty1.service") == [#"/sbin/agetty|-o|-p -- \u|--noclear|tty1"#])
    #expect(words(units, "getty@.service") == [#"/sbin/agetty|-o|-p -- \u|--noclear|%I"#])
  }

  @Test func `drop-ins of every level apply by base name, the stronger directory first`() throws {
    let tree = try FixtureTree([
      "usr/lib/systemd/system/serial-getty@.service": Self.stock,
      "usr/lib/systemd/system/serial-getty@ttyS0.service.d/10-a.conf": "[Service]\nExecStart=/weak\n",
      "etc/systemd/system/serial-getty@.service.d/10-a.conf": "[Service]\nExecStart=/strong\n",
      "usr/lib/systemd/system/service.d/20-b.conf": "[Service]\nExecStart=/typelevel\n",
      "run/systemd/system/serial-.service.d/30-c.conf": "[Service]\nExecStart=/prefix %p\n",
      "etc/systemd/system/serial-getty@ttyS0.service.d/40-d": "[Service]\nExecStart=/no-suffix\n",
    ])
    let units = Units(try System(root: tree.root))
    #expect(
      words(units, "serial-getty@ttyS0.service").dropFirst() == ["/strong", "/typelevel", "/prefix|serial-getty"])
  }

  @Test(arguments: [
    ("serial-.service.d", true), ("serial-@.service.d", true), ("serial-@ttyS0.service.d", true),
    ("serial-@ttyS1.service.d", false), ("serial-getty-.service.d", false), ("getty-.service.d", false),
  ])
  func `drop-ins of a name's beginning`(folder: String, counts: Bool) throws {
    let tree = try FixtureTree([
      "usr/lib/systemd/system/serial-getty@.service": Self.stock,
      "etc/systemd/system/\(folder)/a.conf": "[Service]\nExecStart=\nExecStart=/x\n",
    ])
    let units = Units(try System(root: tree.root))
    #expect((words(units, "serial-getty@ttyS0.service") == ["/x"]) == counts)
  }

  @Test func `an empty assignment clears, and evidence names file and line`() throws {
    let tree = try FixtureTree([
      "usr/lib/systemd/system/getty@.service": Self.stock,
      "etc/systemd/system/getty@tty1.service.d/x.conf": "[Service]\n# why\nExecStart=\nExecStart=/a \\\n  /b\n",
    ])
    let units = Units(try System(root: tree.root))
    let command = try #require(units.unit("getty@tty1.service")?.commands().first)
    #expect(command.words == ["/a", "/b"])
    #expect(command.place == Place("/etc/systemd/system/getty@tty1.service.d/x.conf", line: 4))
  }

  @Test(
    arguments: [
      ("ExecStart=/a \\\n  /b", ["/a|/b"]), ("ExecStart=/a \\\r\n  /b", ["/a|/b"]),
      ("ExecStart=/a \\ \n  /b", [#"/a|\"#]), ("ExecStart=/a \\\\\n  /b", [#"/a|\"#]),
      ("ExecStart=/a 'b' \"c\"", ["/a|b|c"]), ("ExecStart=/a 'b", []), ("ExecStart=/a \"b 'c'", []),
    ] as [(String, [String])])
  func `where a command ends`(line: String, wanted: [String]) throws {
    let tree = try FixtureTree(["etc/systemd/system/x.service": "[Service]\n" + line + "\n"])
    #expect(words(Units(try System(root: tree.root)), "x.service") == wanted)
  }

  @Test func `a link to nothing or an empty file masks, a drop-in too`() throws {
    let tree = try FixtureTree([
      "usr/lib/systemd/system/a.service": Self.stock, "etc/systemd/system/b.service": "",
      "usr/lib/systemd/system/b.service": Self.stock, "usr/lib/systemd/system/c.service": Self.stock,
      "usr/lib/systemd/system/c.service.d/x.conf": "[Service]\nExecStart=/x\n",
    ])
    tree.link("etc/systemd/system/a.service", to: "/dev/null")
    tree.link("etc/systemd/system/c.service.d/x.conf", to: "/dev/null")
    let units = Units(try System(root: tree.root))
    #expect(units.isMasked("a.service"))
    #expect(units.isMasked("b.service"))
    #expect(!units.isMasked("c.service"))
    #expect(units.unit("c.service")?.commands().count == 1)
  }

  @Test func `aliases lead to the unit and bring their drop-ins`() throws {
    let tree = try FixtureTree([
      "usr/lib/systemd/system/getty@.service": Self.stock,
      "etc/systemd/system/autovt@.service.d/x.conf": "[Service]\nExecStart=\nExecStart=/x %i\n",
      "usr/lib/systemd/system/ssh.service": Self.stock,
    ])
    tree.link("usr/lib/systemd/system/autovt@.service", to: "getty@.service")
    tree.link("etc/systemd/system/sshd.service", to: "/lib/systemd/system/ssh.service")
    let units = Units(try System(root: tree.root))
    #expect(units.canonical("sshd.service") == "ssh.service")
    #expect(units.canonical("autovt@tty3.service") == "getty@tty3.service")
    #expect(words(units, "getty@tty3.service") == ["/x|tty3"])
  }

  @Test func `an instance with a file of its own has no part in its template's aliases`() throws {
    let tree = try FixtureTree([
      "usr/lib/systemd/system/getty@.service": Self.stock, "etc/systemd/system/getty@tty1.service": Self.stock,
      "etc/systemd/system/autovt@.service.d/x.conf": "[Service]\nExecStart=\nExecStart=/x\n",
      "etc/systemd/system/getty@.service.d/y.conf": "[Service]\nExecStart=/y\n",
    ])
    tree.link("usr/lib/systemd/system/autovt@.service", to: "getty@.service")
    tree.link("etc/systemd/system/getty@tty3.service", to: "/usr/lib/systemd/system/getty@.service")
    let units = Units(try System(root: tree.root))
    #expect(words(units, "getty@tty1.service").dropFirst() == ["/y"])
    #expect(words(units, "getty@tty2.service") == ["/x", "/y"])
    #expect(words(units, "getty@tty3.service") == ["/x", "/y"])
  }

  @Test func `a ring of aliases ends`() throws {
    let tree = try FixtureTree()
    tree.link("etc/systemd/system/a.service", to: "b.service")
    tree.link("etc/systemd/system/b.service", to: "a.service")
    let units = Units(try System(root: tree.root))
    _ = units.canonical("a.service")
    #expect(units.unit("a.service")?.settings.isEmpty ?? true)
  }

  @Test func `environment reaches the command`() throws {
    let tree = try FixtureTree([
      "etc/systemd/system/x.service":
        "[Service]\nEnvironment=\"A=1 2\" B=b\nEnvironmentFile=-/etc/default/x\nExecStart=/x $A ${A} $B$C ${C} $$D\n",
      "etc/default/x": "C=\"c c\"\n",
    ])
    let system = try System(root: tree.root)
    let unit = try #require(Units(system).unit("x.service"))
    let commands = unit.commands(environment: unit.environment { system.text($0) })
    #expect(commands.map(\.words) == [["/x", "1", "2", "1 2", "c c", "$D"]])
  }
}

struct StartupTests {
  private func startup(_ files: [String: String], _ links: [String: String] = [:]) throws -> Startup {
    let tree = try FixtureTree(files)
    for (path, target) in links { tree.link(path, to: target) }
    let startup = Startup(try System(root: tree.root))
    // What is asked later is read now, while the tree is there.
    for name in ["ssh", "sshd"] { _ = startup.starts([name]) }
    for name in ["display-manager.service", "graphical.target"] { _ = startup.units.unit(name) }
    return startup
  }

  private static let service = "[Service]\nExecStart=/usr/sbin/sshd -D\n"
  private static let base = [
    "usr/lib/systemd/system/ssh.service": service, "usr/lib/systemd/system/multi-user.target": "[Unit]\n",
    "usr/lib/systemd/system/graphical.target": "[Unit]\nRequires=multi-user.target\nWants=display-manager.service\n",
  ]

  @Test func `a tree without any link starts everything that is not masked`() throws {
    #expect(try startup(Self.base).starts(["ssh", "sshd"]))
    #expect(try !startup(Self.base, ["etc/systemd/system/ssh.service": "/dev/null"]).starts(["ssh", "sshd"]))
  }

  @Test func `a link to another service leaves this one dormant`() throws {
    let link = ["etc/systemd/system/multi-user.target.wants/x.service": "/usr/lib/systemd/system/x.service"]
    #expect(try !startup(Self.base, link).starts(["ssh", "sshd"]))
  }

  @Test func `links, aliases and sockets start`() throws {
    let wants = "etc/systemd/system/multi-user.target.wants/ssh.service"
    #expect(try startup(Self.base, [wants: "/usr/lib/systemd/system/ssh.service"]).starts(["ssh"]))
    let alias = [
      wants: "/usr/lib/systemd/system/ssh.service",
      "etc/systemd/system/sshd.service": "/lib/systemd/system/ssh.service",
    ]
    #expect(try startup(Self.base, alias).starts(["sshd"]))
    let socket = ["usr/lib/systemd/system/ssh.socket": "[Socket]\nListenStream=22\n"]
    let socketLink = ["etc/systemd/system/sockets.target.wants/ssh.socket": "/usr/lib/systemd/system/ssh.socket"]
    #expect(try startup(Self.base.merging(socket) { $1 }, socketLink).starts(["ssh"]))
    let masked = socketLink.merging(["etc/systemd/system/ssh.service": "/dev/null"]) { $1 }
    #expect(try !startup(Self.base.merging(socket) { $1 }, masked).starts(["ssh"]))
  }

  @Test func `the default target decides about graphical and multi-user`() throws {
    let graphical = ["etc/systemd/system/graphical.target.wants/ssh.service": "/usr/lib/systemd/system/ssh.service"]
    let text = ["etc/systemd/system/default.target": "/usr/lib/systemd/system/multi-user.target"]
    #expect(try startup(Self.base, graphical).starts(["ssh"]))
    #expect(try !startup(Self.base, graphical.merging(text) { $1 }).starts(["ssh"]))
    #expect(try startup(Self.base, graphical).booted.isGraphical)
    #expect(try !startup(Self.base, text).booted.isGraphical)
    let rescue = ["etc/systemd/system/default.target": "/usr/lib/systemd/system/rescue.target"]
    let wants = ["etc/systemd/system/multi-user.target.wants/ssh.service": "/usr/lib/systemd/system/ssh.service"]
    #expect(try !startup(Self.base, rescue.merging(wants) { $1 }).starts(["ssh"]))
  }

  @Test(arguments: [
    ("systemd.unit=graphical.target", true), ("5", true), ("ro quiet 3", false), ("single", false), ("", false),
    ("5 systemd.unit=multi-user.target", false), ("systemd.wants=graphical.target", true),
    ("rd.systemd.unit=graphical.target", false),
  ])
  func `the kernel's words decide before the default target`(words: String, isGraphical: Bool) throws {
    let text = ["etc/systemd/system/default.target": "/usr/lib/systemd/system/multi-user.target"]
    let startup = try startup(Self.base.merging(["proc/cmdline": words]) { $1 }, text)
    #expect(startup.booted.isGraphical == isGraphical)
  }

  @Test func `what may not run, and what is masked by the kernel's words`() throws {
    let wants = [
      "etc/systemd/system/multi-user.target.wants/ssh.service": "/usr/lib/systemd/system/ssh.service"
    ]
    let files = Self.base.merging([
      "usr/lib/systemd/system/ssh.service":
        "[Unit]\nConditionPathExists=!/etc/ssh/sshd_not_to_be_run\n" + Self.service
    ]) { $1 }
    #expect(try startup(files, wants).starts(["ssh"]))
    #expect(try !startup(files.merging(["etc/ssh/sshd_not_to_be_run": ""]) { $1 }, wants).starts(["ssh"]))
    #expect(try !startup(files.merging(["proc/cmdline": "systemd.mask=ssh"]) { $1 }, wants).starts(["ssh"]))
  }

  @Test func `a template is no service, whatever leads to it`() throws {
    let path = "/usr/lib/systemd/system/cage@.service"
    let files = Self.base.merging([path: "[Service]\nExecStart=/usr/bin/cage\n"]) { $1 }
    let links = [
      "etc/systemd/system/display-manager.service": path,
      "etc/systemd/system/graphical.target.wants/cage@tty7.service": path,
    ]
    #expect(try startup(files, links).booted.services == ["cage@tty7.service"])
  }

  @Test func `start links of OpenRC, sysvinit, OpenWrt and runit`() throws {
    let busybox = ["sbin/init": "/bin/busybox"]
    #expect(try startup(["etc/inittab": ""], busybox).starts(["sshd"]))
    let openrc = busybox.merging(["etc/runlevels/default/crond": "/etc/init.d/crond"]) { $1 }
    #expect(try !startup(["etc/inittab": ""], openrc).starts(["sshd"]))
    let sshd = busybox.merging(["etc/runlevels/default/sshd": "/etc/init.d/sshd"]) { $1 }
    #expect(try startup(["etc/inittab": ""], sshd).starts(["sshd"]))
    #expect(try startup(["sbin/procd": "x"], ["etc/rc.d/S19ssh": "../init.d/ssh"]).starts(["ssh"]))
    #expect(
      try !startup(["sbin/procd": "x"], ["etc/rc.d/K19ssh": "../init.d/ssh", "etc/rc.d/S20x": "../x"]).starts(["ssh"]))
    #expect(try startup(["etc/inittab": "x"], ["etc/rc3.d/S02ssh": "../init.d/ssh"]).starts(["ssh"]))
  }

  @Test(arguments: [(0o755, true), (0o644, false)] as [(UInt32, Bool)])
  func `Slackware starts the scripts that may be executed`(mode: UInt32, isStarted: Bool) throws {
    let tree = try FixtureTree(["etc/inittab": "id:3:initdefault:\n", "etc/rc.d/rc.M": ""])
    try tree.write("etc/rc.d/rc.sshd", "#!/bin/sh\n", mode: mode)
    tree.link("etc/rc.d/rc3.d/S99tools", to: "../init.d/tools")
    #expect(Startup(try System(root: tree.root)).starts(["sshd"]) == isStarted)
  }

  @Test func `units in an image without systemd do not make it one`() throws {
    let image = try startup(["usr/lib/systemd/system/fstrim.service": "[Service]\n"])
    #expect(image.kind == .none)
    let withMenu = ["usr/lib/systemd/system/fstrim.service": "[Service]\n", "boot/grub/grub.cfg": ""]
    #expect(try startup(withMenu).kind == .none)
    #expect(try startup(["boot/grub/grub.cfg": ""]).kind == .other)
    #expect(try startup(["var/guix/profiles": ""]).kind == .other)
    #expect(try startup(["usr/lib/systemd/system/getty@.service": "x"]).kind == .systemd)
    #expect(try startup([:], ["sbin/init": "/bin/busybox"]).kind == .busybox)
    #expect(try startup([:], ["sbin/init": "../lib/systemd/systemd"]).kind == .systemd)
  }
}
