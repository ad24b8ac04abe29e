import Posture
import TestKit
import Testing

@testable import PostureProbes

/// Doors of whole trees. Login is BusyBox's, so that passwd alone decides who is asked what.
struct ConsoleDoorsTests {
  static let hash = "$6$saltsalt$" + String(repeating: "a", count: 86)

  static func base(root: String = hash) -> [String: String] {
    [
      "bin/busybox": "", "etc/login.defs": "UID_MIN 1000\n",
      "etc/passwd": "root:\(root):0:0::/root:/bin/sh\npi:\(hash):1000:1000::/home/pi:/bin/sh\n"
        + "ann:\(hash):1001:1001::/home/ann:/bin/sh\n",
    ]
  }

  private static let getty = "[Service]\nExecStart=-/sbin/agetty -o '-p -- \\\\u' --noclear %I $TERM\n"
  private static let autologin = "[Service]\nExecStart=\nExecStart=-/sbin/agetty --autologin pi %I $TERM\n"

  private func look(
    _ files: [String: String], root: String = hash, links: [String: String] = [:]
  ) throws -> (rows: [String: Answer], result: ProbeResult) {
    let tree = try FixtureTree(Self.base(root: root).merging(files) { $1 })
    tree.link("bin/login", to: "/bin/busybox")
    for (path, target) in links { tree.link(path, to: target) }
    let result = ConsoleDoors.look(AuthContext(try System(root: tree.root)))
    let rows = Dictionary(uniqueKeysWithValues: result.doors.map { ("\($0.name) \($0.subject)", $0.answer) })
    return (rows, result)
  }

  @Test func `stock gettys are one door, and everybody is asked`() throws {
    let rows = try look(["usr/lib/systemd/system/getty@.service": Self.getty]).rows
    #expect(rows == ["login@console root": .required, "login@console pi": .required, "login@console ann": .required])
  }

  @Test func `a drop-in for one terminal is a door of its own`() throws {
    let found = try look([
      "usr/lib/systemd/system/getty@.service": Self.getty,
      "etc/systemd/system/getty@tty1.service.d/a.conf": Self.autologin,
    ])
    #expect(found.rows["login@tty1 pi"] == .notRequired)
    #expect(found.rows["login@tty1 ann"] == .closed)
    #expect(found.rows["login@console pi"] == .required)
    let door = try #require(found.result.doors.first { $0.name == "login@tty1" && $0.subject == "pi" })
    #expect(door.cause?.code == "autologin")
    #expect(
      door.because.first == Reason("agetty.autologin", file: "/etc/systemd/system/getty@tty1.service.d/a.conf", line: 3)
    )
    #expect(!door.oncePerBoot)
  }

  @Test func `a drop-in that clears nothing leaves its terminal dead`() throws {
    let command = "[Service]\nExecStart=-/sbin/agetty --autologin pi %I $TERM\n"
    let files = [
      "usr/lib/systemd/system/getty@.service": Self.getty, "etc/systemd/system/getty@tty1.service.d/a.conf": command,
    ]
    let found = try look(files)
    #expect(found.rows["login@tty1 pi"] == nil)
    #expect(found.rows["login@console pi"] == .required)
    #expect(found.result.remarks.contains { $0.cause.code == "dormantDoor" && $0.door == "login@tty1" })
    let oneshot = files.merging(["etc/systemd/system/getty@tty1.service.d/b.conf": "[Service]\nType=oneshot\n"]) { $1 }
    #expect(try look(oneshot).rows["login@tty1 pi"] == .notRequired)
  }

  @Test func `a template's drop-in is one door for all its terminals`() throws {
    let rows = try look([
      "usr/lib/systemd/system/getty@.service": Self.getty, "etc/systemd/system/getty@.service.d/a.conf": Self.autologin,
      "etc/systemd/system/getty.target.wants/getty@tty1.service": Self.getty,
    ]).rows
    #expect(rows["login@tty* pi"] == .notRequired)
    #expect(rows["login@tty1 pi"] == nil)
    #expect(rows["login@console pi"] == nil)
  }

  @Test func `an instance can take a template's change back`() throws {
    let stock = "[Service]\nExecStart=\nExecStart=-/sbin/agetty %I $TERM\n"
    let rows = try look([
      "usr/lib/systemd/system/getty@.service": Self.getty, "etc/systemd/system/getty@.service.d/a.conf": Self.autologin,
      "etc/systemd/system/getty@tty2.service.d/b.conf": stock,
    ]).rows
    #expect(rows["login@tty* pi"] == .notRequired)
    #expect(rows["login@console pi"] == .required)
  }

  @Test func `masked terminals are none, terminals that nobody starts are dormant`() throws {
    let files = [
      "usr/lib/systemd/system/getty@.service": Self.getty,
      "etc/systemd/system/getty@tty9.service.d/a.conf": Self.autologin,
      "usr/lib/systemd/system/x.service": "[Service]\n",
    ]
    let links = ["etc/systemd/system/multi-user.target.wants/x.service": "/usr/lib/systemd/system/x.service"]
    let found = try look(files, links: links)
    #expect(found.rows["login@tty9 pi"] == nil)
    #expect(found.result.remarks.map(\.cause.code) == ["dormantDoor"])
    #expect(try look(files).rows["login@tty9 pi"] == .notRequired)
    let masked = try look(
      files.merging(["etc/systemd/system/getty@tty1.service.d/a.conf": Self.autologin]) { $1 },
      links: links.merging(["etc/systemd/system/getty@tty1.service": "/dev/null"]) { $1 })
    #expect(masked.rows["login@tty1 pi"] == nil)
    let none = try look(files, links: ["etc/systemd/system/getty@.service": "/dev/null"])
    #expect(none.rows["login@console pi"] == nil)
  }

  @Test func `an automatic login of nobody is a finding and no row`() throws {
    let found = try look([
      "usr/lib/systemd/system/getty@.service": Self.getty,
      "etc/systemd/system/getty@tty1.service.d/a.conf": Self.autologin.substituting(" pi ", with: " ghost "),
    ])
    #expect(!found.rows.keys.contains { $0.hasPrefix("login@tty1") })
    #expect(found.result.remarks.map(\.cause.code) == ["autologinUnknownUser"])
  }

  @Test func `credentials need both the name and the leave`() throws {
    let unit = Self.getty + "ImportCredential=agetty.*\nImportCredential=login.*\n"
    let base = ["usr/lib/systemd/system/getty@.service": unit]
    let name = ["etc/credstore/agetty.autologin": "pi\n"]
    let leave = ["usr/lib/credstore/login.noauth": "yes\n"]
    #expect(try look(base.merging(name) { $1 }).rows["login@tty* pi"] == .required)
    let both = try look(base.merging(name) { $1 }.merging(leave) { $1 })
    #expect(both.rows["login@tty* pi"] == .notRequired)
    #expect(both.rows["login@tty* ann"] == .closed)
    let all = try look(base.merging(leave) { $1 })
    #expect(all.rows["login@tty* ann"] == .notRequired)
    #expect(
      try look(base.merging(["etc/credstore/login.noauth": "true"]) { $1 }).rows["login@console ann"] == .required)
    let encrypted = try look(base.merging(["etc/credstore.encrypted/login.noauth": "x"]) { $1 })
    #expect(encrypted.rows["login@tty* ann"] == .unknown)
    let set = ["usr/lib/systemd/system/getty@.service": Self.getty + "SetCredential=login.noauth:yes\n"]
    #expect(try look(set).rows["login@tty* pi"] == .notRequired)
    // Without the unit's leave the stores do not matter.
    #expect(
      try look(["usr/lib/systemd/system/getty@.service": Self.getty].merging(leave) { $1 }).rows["login@tty* pi"] == nil
    )
  }

  @Test func `the debug shell counts if it is linked or asked for`() throws {
    let files = [
      "usr/lib/systemd/system/getty@.service": Self.getty,
      "usr/lib/systemd/system/debug-shell.service": "[Service]\nExecStart=/bin/bash\nTTYPath=/dev/tty9\n",
    ]
    #expect(try look(files).rows["login@tty9 root"] == nil)
    let link = [
      "etc/systemd/system/sysinit.target.wants/debug-shell.service": "/usr/lib/systemd/system/debug-shell.service"
    ]
    #expect(try look(files, links: link).rows["login@tty9 root"] == .notRequired)
    let kernel = try look(files.merging(["proc/cmdline": "ro systemd.debug-shell=tty5\n"]) { $1 })
    #expect(kernel.rows["login@tty5 root"] == .notRequired)
    #expect(kernel.rows["login@tty5 pi"] == .closed)
  }

  @Test func `BusyBox: no inittab is root shells, inittab says itself`() throws {
    let busybox = ["sbin/init": "/bin/busybox"]
    #expect(try look([:], links: busybox).rows["login@console root"] == .notRequired)
    let getty = try look(["etc/inittab": "tty1::respawn:/sbin/getty 38400 tty1\n"], links: busybox).rows
    #expect(getty == ["login@console root": .required, "login@console pi": .required, "login@console ann": .required])
    let mixed =
      "::sysinit:/etc/rc\ntty1::respawn:/sbin/getty 38400 tty1\nttyS0::askfirst:-/bin/sh\n::respawn:/usr/bin/app\n"
    let rows = try look(["etc/inittab": mixed], links: busybox).rows
    #expect(rows["login@ttyS0 root"] == .notRequired)
    #expect(rows["login@ttyS0 pi"] == .closed)
    #expect(rows["login@console root"] == .required)
    #expect(rows.keys.allSatisfy { $0.hasPrefix("login@ttyS0") || $0.hasPrefix("login@console") })
    // A shell on the console beside a login on another terminal: one name, the weaker of the two.
    let console = try look(["etc/inittab": mixed + "::askfirst:-/bin/ash\n"], links: busybox).rows
    #expect(console["login@console root"] == .notRequired)
    #expect(console["login@console pi"] == .required)
  }

  @Test func `BusyBox login: a star is closed even with -f, securetty is for root`() throws {
    let serial = ["usr/lib/systemd/system/serial-getty@.service": "[Service]\nExecStart=-/sbin/agetty -a root %I\n"]
    #expect(try look(serial, root: "*").rows["login@ttyS* root"] == .closed)
    #expect(try look(serial, root: "").rows["login@ttyS* root"] == .notRequired)
    let getty = ["usr/lib/systemd/system/getty@.service": Self.getty]
    #expect(try look(getty.merging(["etc/securetty": "ttyS0\n"]) { $1 }).rows["login@console root"] == .closed)
    #expect(try look(getty.merging(["etc/securetty": "ttyS0\n"]) { $1 }).rows["login@console pi"] == .required)
    let both = getty.merging(serial) { $1 }.merging(["etc/securetty": "tty1\n"]) { $1 }
    #expect(try look(both).rows["login@console root"] == .required)
    #expect(try look(getty.merging(["etc/securetty": ""]) { $1 }).rows["login@console root"] == .required)
  }

  @Test func `sysvinit: levels, redirections, ordinary lines`() throws {
    let inittab = """
      id:3:initdefault:
      1:2345:respawn:/sbin/getty 38400 tty1
      2:5:respawn:/bin/login -f pi
      3:3:respawn:/bin/login -f pi </dev/tty3 >/dev/tty3 2>&1
      4:3:off:/bin/sh
      5:3:respawn:/usr/bin/daemon --login
      """
    let rows = try look(["etc/inittab": inittab]).rows
    #expect(rows["login@console pi"] == .required)
    #expect(rows["login@tty3 pi"] == .notRequired)
    #expect(rows["login@tty3 root"] == .closed)
    #expect(Set(rows.keys.map { $0.split(separator: " ")[0] }) == ["login@console", "login@tty3"])
  }

  @Test func `OpenRC and runit services`() throws {
    let openrc = try look(
      ["etc/inittab": "", "etc/conf.d/agetty.tty1": "agetty_options=\"--autologin pi --noclear\"\n"],
      links: [
        "etc/runlevels/default/agetty.tty1": "/etc/init.d/agetty.tty1",
        "etc/runlevels/default/agetty.tty2": "/etc/init.d/agetty.tty2",
      ])
    #expect(openrc.rows["login@tty1 pi"] == .notRequired)
    #expect(openrc.rows["login@console pi"] == .required)
    let runit = try look(
      ["etc/sv/agetty-tty1/conf": "GETTY_ARGS=\"-a pi\"\n"],
      links: ["sbin/init": "runit-init", "etc/runit/runsvdir/default/agetty-tty1": "/etc/sv/agetty-tty1"])
    #expect(runit.rows["login@tty1 pi"] == .notRequired)
  }

  @Test func `no init, no door; an unknown one leaves the check open`() throws {
    #expect(try look([:]).rows.isEmpty)
    let other = try look(["sbin/init": "ELF"])
    #expect(other.rows.isEmpty)
    #expect(other.result.gaps.map(\.checks) == [[.ownerAuthentication]])
  }
}
