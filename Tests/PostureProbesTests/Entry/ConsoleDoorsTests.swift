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
    for restart in ["always", "on-success"] {
      let refused = ["etc/systemd/system/getty@tty1.service.d/c.conf": "[Service]\nRestart=\(restart)\n"]
      #expect(try look(oneshot.merging(refused) { $1 }).rows["login@tty1 pi"] == nil)
    }
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

  private static let plain = "[Service]\nExecStart=-/sbin/agetty --noclear %I $TERM\n"

  @Test(arguments: [
    ("ImportCredential=tty.virtual.%I.agetty.*:agetty.\n", "etc/credstore/tty.virtual.tty3.agetty.autologin", true),
    ("ImportCredential=tty.virtual.%I.agetty.*:agetty.\n", "etc/credstore/tty.virtual.tty3.login.noauth", false),
    ("ImportCredential=tty.virtual.%I.agetty.*\n", "etc/credstore/tty.virtual.tty3.agetty.autologin", false),
    ("ImportCredential=mine:agetty.autologin\n", "etc/credstore/mine", true),
    ("ImportCredential=agetty.*:other.\n", "etc/credstore/agetty.autologin", false),
    ("LoadCredential=agetty.autologin:/etc/names/%I\n", "etc/names/tty3", true),
  ])
  func `credentials under other names`(_ setting: String, _ path: String, _ counts: Bool) throws {
    let files = [
      "usr/lib/systemd/system/getty@.service": Self.plain + setting, path: "pi",
      "etc/systemd/system/getty@tty3.service.d/a.conf": "[Service]\nNice=0\n",
    ]
    let rows = try look(files).rows
    #expect(rows["login@tty3 pi"] ?? rows["login@tty* pi"] == (counts ? .notRequired : nil))
  }

  @Test func `a terminal that only a credential names`() throws {
    let setting = "ImportCredential=tty.serial.%I.login.*:login.\n"
    let unit = ["usr/lib/systemd/system/serial-getty@.service": Self.plain + setting]
    let stored = try look(unit.merging(["etc/credstore/tty.serial.ttyS0.login.noauth": "yes"]) { $1 }).rows
    #expect(stored["login@ttyS0 pi"] == .notRequired)
    #expect(stored["login@console pi"] == .required)
    let word = ["proc/cmdline": "systemd.set_credential=tty.serial.ttyS1.login.noauth:yes console=ttyS1"]
    #expect(try look(unit.merging(word) { $1 }).rows["login@ttyS1 pi"] == .notRequired)
  }

  @Test(arguments: [
    ("\toption ttylogin '0'\n\toption ttylogin '1'\n", true), ("\toption ttylogin 1 # yes\n", true),
    ("\toption ttylogin '1'\n\toption ttylogin '0'\n", false), ("\t# option ttylogin 1\n", false),
    ("config system\n\toption ttylogin 1\n", false),
  ])
  func `OpenWrt's terminals ask where the last value says so`(_ options: String, _ asks: Bool) throws {
    let tree = try FixtureTree(["etc/config/system": "config system\n" + options])
    #expect(OpenWrtSettings.asksOnTerminals(try System(root: tree.root)) == asks)
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

  // MARK: What else systemd starts at a terminal

  private static let wants = "etc/systemd/system/multi-user.target.wants"
  private static let first = ["etc/systemd/system/getty.target.wants/getty@tty1.service": "getty@.service"]

  /// The rows of one terminal of a system that has the stock getty on tty1, by subject.
  private func rows(
    _ door: String, _ files: [String: String], links: [String: String] = [:]
  ) throws -> [String: Answer] {
    let base = [
      "usr/lib/systemd/system/getty@.service": Self.getty, "usr/lib/systemd/system/serial-getty@.service": Self.getty,
    ]
    let links = Self.first.merging(["usr/lib/systemd/system/autovt@.service": "getty@.service"]) { $1 }
      .merging(links) { $1 }
    let found = try look(base.merging(files) { $1 }, links: links).rows
    return found.reduce(into: [:]) { rows, row in
      let words = row.key.split(separator: " ").map(String.init)
      if words[0] == door { rows[words[1]] = row.value }
    }
  }

  private static func mine(_ answer: Answer) -> [String: Answer] { ["root": .closed, "pi": answer, "ann": .closed] }

  @Test(arguments: [
    ("User=pi\nTTYPath=/dev/tty8\nExecStart=/bin/bash\n", mine(.notRequired)),
    ("User=1000\nTTYPath=/dev/tty8\nExecStart=-/bin/bash -l\n", mine(.notRequired)),
    ("User=root\nTTYPath=/dev/tty8\nExecStart=-/bin/sh\n", ["root": .notRequired, "pi": .closed, "ann": .closed]),
    ("ExecStart=/sbin/agetty --autologin pi tty8 linux\n", mine(.notRequired)),
    ("User=pi\nTTYPath=/dev/tty8\nExecStart=/usr/bin/startx\n", mine(.unknown)),
    ("User=pi\nTTYPath=/dev/tty8\nExecStart=/usr/bin/cage /usr/bin/foot\n", mine(.unknown)),
    ("TTYPath=/dev/tty8\nExecStart=/bin/su -l pi -c /usr/bin/startx\n", mine(.unknown)),
    ("TTYPath=/dev/tty8\nExecStart=/bin/su -l pi -c /usr/bin/uptime\n", [:]),
    ("User=pi\nTTYPath=/dev/tty8\nExecStart=/usr/bin/app\n", [:]),
    ("User=ghost\nTTYPath=/dev/tty8\nExecStart=/bin/bash\n", [:]),
  ])
  func `a service is at its terminal whoever's directory it is in`(unit: String, wanted: [String: Answer]) throws {
    for folder in ["etc", "usr/lib"] {
      let path = "\(folder)/systemd/system/own.service"
      let found = try rows("login@tty8", [path: "[Service]\n" + unit], links: ["\(Self.wants)/own.service": "/" + path])
      #expect(found == wanted)
    }
  }

  @Test(arguments: [
    ("User=pi\nExecStart=/usr/bin/startx\n", Answer.unknown), ("ExecStart=/bin/su - pi -c startx\n", .unknown),
    ("User=pi\nExecStart=/bin/bash -c \"startx /usr/bin/app\"\n", .unknown),
    ("ExecStart=/usr/bin/sudo -u pi startx\n", .unknown), ("ExecStart=/usr/bin/sudo -u pi daemon\n", .required),
    ("ExecStart=/bin/sh -c \"echo x >/dev/tty1; exec daemon\"\n", .required),
    ("User=pi\nExecStart=/usr/bin/daemon\n", .required), ("ExecStart=/bin/su pi -c daemon\n", .required),
    ("ExecStart=/sbin/runuser -u pi -- daemon\n", .required), ("User=pi\nExecStart=/bin/bash\n", .required),
  ])
  func `a session without a terminal of its own is one, a daemon is none`(unit: String, wanted: Answer) throws {
    let found = try rows(
      "login@console", ["etc/systemd/system/own.service": "[Service]\n" + unit],
      links: ["\(Self.wants)/own.service": "/etc/systemd/system/own.service"])
    #expect(found["pi"] == wanted)
    #expect(found["root"] == .required)
  }

  @Test(arguments: [
    ("ttyTHS0", "ExecStart=/opt/console.sh\n"),
    ("ttyTHS0", "ExecStart=/bin/sh -c \"exec /sbin/agetty --autologin root -L ttyTHS0 115200 vt100\"\n"),
    ("tty3", "ExecStart=/usr/bin/openvt -c 3 -w -s -- /bin/bash -l\n"),
    ("ttyGS0", "ExecStart=/bin/sh -c \"setsid /bin/bash -i </dev/ttyGS0 >/dev/ttyGS0 2>&1\"\n"),
  ])
  func `a terminal that a service's command names`(terminal: String, unit: String) throws {
    let script = "#!/bin/bash\n# not ttyS9\nexec /sbin/agetty --autologin root -L 115200 ttyTHS0 vt100\n"
    let found = try rows(
      "login@\(terminal)", ["etc/systemd/system/own.service": "[Service]\n" + unit, "opt/console.sh": script],
      links: ["\(Self.wants)/own.service": "/etc/systemd/system/own.service"])
    #expect(found["root"] == .notRequired)
  }

  @Test(arguments: [("/run/kiosk", Answer.unknown), ("/etc/kiosk", .notRequired)])
  func `a name from a file that is made while the system runs`(file: String, wanted: Answer) throws {
    let command = "ExecStart=-/sbin/agetty --autologin ${WHO} %I $TERM\n"
    let found = try rows(
      "login@tty1",
      [
        "etc/systemd/system/getty@tty1.service.d/a.conf":
          "[Service]\nEnvironmentFile=-\(file)\nExecStart=\n" + command,
        "etc/kiosk": "WHO=pi\n",
      ])
    #expect(found["pi"] == wanted)
  }

  private static let shell = "[Service]\nTTYPath=/dev/tty3\nStandardInput=tty\nExecStart=/bin/bash -l\n"

  @Test(arguments: [
    ("a.service", "[Unit]\nWants=b.service\n[Service]\nExecStart=/a\n", true), ("b.timer", "[Timer]\n", true),
    ("b.path", "[Path]\nPathExists=/a\n", true), ("a.timer", "[Timer]\nUnit=b.service\n", true),
    ("a.timer", "[Timer]\n", false), ("b.timer", "[Unit]\nConditionPathExists=/a\n[Timer]\n", false),
    ("a.service", "[Unit]\nAfter=b.service\n[Service]\nExecStart=/a\n", false),
  ])
  func `what a unit pulls in is started`(name: String, text: String, isStarted: Bool) throws {
    let found = try rows(
      "login@tty3", ["etc/systemd/system/\(name)": text, "etc/systemd/system/b.service": Self.shell],
      links: ["\(Self.wants)/\(name)": "/etc/systemd/system/\(name)"])
    #expect(found["root"] == (isStarted ? .notRequired : nil))
  }

  @Test(
    arguments: [
      ("ID=raspbian\nVERSION_ID=\"9\"\n", .notRequired), ("ID=debian\nVERSION_ID=\"12\"\n", nil),
      ("ID=own\n", .unknown),
    ] as [(String, Answer?)])
  func `old releases load a unit from where its link leads`(release: String, wanted: Answer?) throws {
    let other = "[Service]\nExecStart=-/sbin/agetty --autologin pi %I\n"
    let found = try rows(
      "login@tty1", ["etc/os-release": release, "etc/systemd/system/autologin@.service": other],
      links: [
        "etc/systemd/system/getty.target.wants/getty@tty1.service": "/etc/systemd/system/autologin@.service"
      ])
    #expect(found["pi"] == wanted)
  }

  @Test(arguments: [
    ("etc/udev/rules.d/9.rules", "KERNEL==\"ttyGS0\", ENV{SYSTEMD_WANTS}=\"serial-getty@ttyGS0.service\"\n", true),
    ("usr/lib/udev/rules.d/9.rules", "KERNEL==\"ttyGS*\", ENV{SYSTEMD_WANTS}+=\"x serial-getty@%k.service\"\n", true),
    ("etc/udev/rules.d/9.rules", "ENV{SYSTEMD_WANTS}==\"serial-getty@ttyGS0.service\", TAG+=\"x\"\n", false),
    ("proc/cmdline", "console=tty1 systemd.set_credential=getty.ttys.serial:ttyGS0\n", true),
    ("run/credentials/@system/getty.ttys.serial", "ttyGS0\n", true),
    ("opt/gadget.sh", "#!/bin/sh\nmodprobe g_serial\nsystemctl start serial-getty@ttyGS0\n", true),
    ("opt/gadget.sh", "#!/bin/sh\nsystemctl stop serial-getty@ttyGS0\n", false),
  ])
  func `a getty that a device, a credential or a program starts`(path: String, text: String, isStarted: Bool) throws {
    for setup in ["serial-getty@ttyGS0.service.d", "serial-getty@.service.d"] {
      let files = [
        "proc/cmdline": "console=tty1\n", "etc/systemd/system/\(setup)/a.conf": Self.autologin,
        "etc/systemd/system/gadget.service": "[Service]\nExecStart=/opt/gadget.sh\n",
      ]
      let found = try rows(
        "login@ttyGS0", files.merging([path: text]) { $1 },
        links: ["\(Self.wants)/gadget.service": "/etc/systemd/system/gadget.service"])
      #expect(found["pi"] == (isStarted ? .notRequired : nil))
    }
  }

  @Test func `the account phase stands before the shell of a unit that names a service of PAM`() throws {
    let shell = "[Service]\nExecStart=\nExecStart=-/bin/bash -l\nUser=pi\nPAMName=login\n"
    let files = ["etc/systemd/system/getty@tty1.service.d/a.conf": shell]
    let open = files.merging(["etc/pam.d/login": "auth required pam_deny.so\naccount required pam_permit.so\n"]) { $1 }
    #expect(try rows("login@tty1", open) == Self.mine(.notRequired))
    let shut = files.merging(["etc/pam.d/login": "auth required pam_deny.so\naccount required pam_deny.so\n"]) { $1 }
    #expect(try rows("login@tty1", shut) == Self.mine(.closed))
  }

  @Test func `terminals are served by what autovt@ leads to`() throws {
    let kmscon = [
      "usr/lib/systemd/system/kmsconvt@.service": "[Service]\nExecStart=/usr/bin/kmscon --vt=%I\n",
      "etc/systemd/system/kmsconvt@.service.d/a.conf":
        "[Service]\nExecStart=\nExecStart=/usr/bin/kmscon --vt=%I --login -- /usr/bin/login -f root\n",
    ]
    let alias = ["etc/systemd/system/autovt@.service": "/usr/lib/systemd/system/kmsconvt@.service"]
    #expect(try rows("login@tty*", kmscon, links: alias)["root"] == .notRequired)
    #expect(try rows("login@tty*", kmscon).isEmpty)
    let one = ["etc/systemd/system/getty.target.wants/kmsconvt@tty1.service": "kmsconvt@.service"]
    #expect(try rows("login@tty1", kmscon, links: one)["root"] == .notRequired)
  }

  @Test(arguments: [
    ("NAutoVTs=2\n", "tty6", true), ("NAutoVTs=2\n", "tty3", false), ("NAutoVTs=2\nReserveVT=3\n", "tty3", true),
    ("NAutoVTs=0\nReserveVT=0\n", "tty6", false), ("NAutoVTs=0\n", "tty6", true), ("", "tty5", true),
  ])
  func `logind serves some terminals, and the reserved one`(text: String, terminal: String, isServed: Bool) throws {
    let found = try rows(
      "login@\(terminal)",
      [
        "etc/systemd/logind.conf": "[Login]\n" + text,
        "etc/systemd/system/getty@\(terminal).service.d/a.conf": Self.autologin,
      ])
    #expect(found["pi"] == (isServed ? .notRequired : nil))
  }

  @Test(arguments: [
    ("single systemd.setenv=SYSTEMD_SULOGIN_FORCE=1", Answer.notRequired),
    ("emergency systemd.setenv=SYSTEMD_SULOGIN_FORCE=1", .notRequired), ("single", .closed),
    ("systemd.setenv=SYSTEMD_SULOGIN_FORCE=1", .closed),
  ])
  func `who always boots into rescue mode has its shell at the console`(words: String, wanted: Answer) throws {
    let sulogin = "[Service]\nExecStart=-/usr/lib/systemd/systemd-sulogin-shell rescue\n"
    let files = [
      "usr/lib/systemd/system/getty@.service": Self.getty, "usr/lib/systemd/system/rescue.service": sulogin,
      "usr/lib/systemd/system/emergency.service": sulogin, "proc/cmdline": words,
    ]
    #expect(try look(files, root: "*", links: Self.first).rows["login@console root"] == wanted)
  }

  @Test(arguments: [
    ("console=tty1 root=x", "ttyS0", false), ("console=tty1 console=ttyS0,115200", "ttyS0", true),
    ("console=ttyS0", "ttyS2", false), ("console=serial0,115200", "ttyAMA0", true), ("console=serial0", "ttyS2", false),
    ("root=x", "ttyS0", true), ("console=tty1", "hvc0", true), ("systemd.getty_auto=n", "ttyS0", false),
  ])
  func `serial consoles that the kernel has none of`(words: String, terminal: String, isServed: Bool) throws {
    let found = try rows(
      "login@\(terminal)",
      ["proc/cmdline": words, "etc/systemd/system/serial-getty@\(terminal).service.d/a.conf": Self.autologin])
    #expect(found["pi"] == (isServed ? .notRequired : nil))
  }

  @Test(arguments: [
    ("Conflicts=getty@tty1.service", false), ("Conflicts=rescue.service autovt@tty1.service", false),
    ("Conflicts=getty@tty7.service", true), ("After=getty@tty1.service", true),
  ])
  func `a service that boots drives out the getty that it conflicts with`(line: String, isStarted: Bool) throws {
    let files = [
      "usr/lib/systemd/system/graphical.target": "[Unit]\nWants=display-manager.service\n",
      "usr/lib/systemd/system/gdm.service": "[Unit]\n\(line)\n[Service]\nExecStart=/usr/sbin/gdm\n",
      "etc/systemd/system/getty@tty1.service.d/a.conf": Self.autologin,
    ]
    let links = ["etc/systemd/system/display-manager.service": "/usr/lib/systemd/system/gdm.service"]
    #expect(try rows("login@tty1", files, links: links)["pi"] == (isStarted ? .notRequired : nil))
    #expect(try rows("login@console", files, links: links)["pi"] == .required)
    let text = links.merging(["etc/systemd/system/default.target": "/usr/lib/systemd/system/multi-user.target"]) { $1 }
    #expect(try rows("login@tty1", files, links: text)["pi"] == .notRequired)
  }

  @Test func `a container has its console`() throws {
    let unit = [
      "usr/lib/systemd/system/console-getty.service": "[Service]\nExecStart=-/sbin/agetty --autologin root - $TERM\n"
    ]
    #expect(try rows("login@console", unit)["root"] == .required)
    #expect(try rows("login@console", unit.merging(["run/systemd/container": "lxc"]) { $1 })["root"] == .notRequired)
  }

  @Test(arguments: [
    ("ConditionPathExists=/etc/kiosk", false), ("ConditionPathExists=!/etc/kiosk", true),
    ("ConditionPathExists=/etc/passwd", true), ("ConditionPathExists=!/etc/passwd", false),
    ("AssertPathExists=/etc/kiosk", false), ("ConditionPathExists=/dev/tty0", true),
    ("ConditionPathExists=|/etc/kiosk\nConditionPathExists=|/etc/passwd", true),
    ("ConditionPathExists=|/etc/kiosk", false),
    ("ConditionPathExists=|/etc/kiosk\nConditionFileNotEmpty=|/etc/passwd", true),
    ("ConditionPathExists=/etc/kiosk\nConditionPathExists=", true),
    // An empty value clears conditions of every kind.
    ("ConditionPathExists=/etc/kiosk\nConditionFileNotEmpty=", true),
    ("ConditionKernelCommandLine=rescueshell", false), ("ConditionKernelCommandLine=!rescueshell", true),
    ("ConditionKernelCommandLine=root", true), ("ConditionKernelCommandLine=root=/dev/sdb", false),
    ("ConditionKernelCommandLine=|ssh\nConditionPathExists=|/etc/kiosk", false),
    ("ConditionKernelCommandLine=|quiet\nConditionPathExists=|/etc/kiosk", true),
  ])
  func `a condition that is not met leaves a door dormant, and the debug shell`(condition: String, isMet: Bool) throws {
    let condition = "[Unit]\n\(condition)\n"
    let debug = "usr/lib/systemd/system/debug-shell.service"
    let files = [
      "proc/cmdline": "root=/dev/sda quiet",
      "etc/systemd/system/getty@tty1.service.d/a.conf": Self.autologin + condition,
      debug: condition + "[Service]\nExecStart=/bin/sh\nTTYPath=/dev/tty9\n",
    ]
    let wanted = "etc/systemd/system/multi-user.target.wants/debug-shell.service"
    #expect(try rows("login@tty1", files)["pi"] == (isMet ? .notRequired : nil))
    #expect(try rows("login@tty9", files, links: [wanted: "/\(debug)"])["root"] == (isMet ? .notRequired : nil))
  }

  @Test func `words of the kernel's that no file tells count as said`() throws {
    let unit = Self.autologin + "[Unit]\nConditionKernelCommandLine=kiosk\n"
    #expect(try rows("login@tty1", ["etc/systemd/system/getty@tty1.service.d/a.conf": unit])["pi"] == .notRequired)
  }

  @Test(
    arguments: [
      ("ID=flatcar\n", "proc/cmdline", "flatcar.autologin=tty1", ["tty1"]),
      ("ID=flatcar\n", "proc/cmdline", "root=x coreos.autologin=ttyS0", ["ttyS0"]),
      ("ID=flatcar\n", "proc/cmdline", "flatcar.autologin", ["tty*", "ttyS*"]),
      ("ID=flatcar\n", "proc/cmdline", "flatcar.first_boot=1 other.autologin", []),
      ("ID=x\nID_LIKE=coreos\n", "oem/grub.cfg", "set linux_append=\"flatcar.autologin=tty1\"", ["tty1"]),
      ("ID=flatcar\n", "usr/share/oem/grub.cfg", "set linux_append=\"\"\nset oem_id=\"vm\"\n", []),
      ("ID=fedora\n", "proc/cmdline", "flatcar.autologin=tty1", []),
    ] as [(String, String, String, [String])])
  func `Flatcar's kernel is told to let its user in`(
    release: String, path: String, text: String, terminals: [String]
  ) throws {
    let hash = Self.hash
    let files = [
      "etc/os-release": release, path: text,
      "etc/passwd": "root:\(hash):0:0::/root:/bin/sh\ncore:\(hash):500:500::/home/core:/bin/sh\n",
    ]
    for terminal in ["tty1", "tty*", "ttyS0", "ttyS*"] {
      let wanted: Answer? = terminals.contains(terminal) ? .notRequired : nil
      #expect(try rows("login@\(terminal)", files)["core"] == wanted, "\(terminal)")
    }
    // Where the generator has run, its files tell.
    #expect(try rows("login@tty1", files.merging(["run/systemd/generator/a.service": ""]) { $1 })["core"] == nil)
  }

  @Test(
    arguments: [
      ("systemd.wants=debug-shell", "tty9"), ("systemd.debug_shell", "tty9"), ("systemd.debug_shell=Yes", "tty9"),
      ("systemd.debug_shell=hvc0", "hvc0"), ("systemd.debug_shell=/dev/tty5", "tty5"),
      ("systemd.debug_shell systemd.default_debug_tty=ttyS0", "ttyS0"), ("systemd.debug_shell=n", nil),
      ("systemd.debug_shell=OFF", nil), ("systemd.debug_shell systemd.mask=debug-shell.service", nil),
      ("ro \"systemd.debug_shell=1\"", "tty9"), ("systemd.debug-shell='1'", "tty9"),
      ("systemd.wants=\"debug-shell\"", "tty9"), ("a=\"b systemd.debug_shell c\"", nil),
    ] as [(String, String?)])
  func `words of the kernel's that start a shell`(words: String, terminal: String?) throws {
    let unit = "[Service]\nExecStart=/bin/sh\nTTYPath=/dev/tty9\n"
    let files = ["usr/lib/systemd/system/debug-shell.service": unit, "proc/cmdline": words]
    for name in ["tty9", "hvc0", "tty5", "ttyS0"] {
      #expect(try rows("login@\(name)", files)["root"] == (name == terminal ? .notRequired : nil))
    }
  }

  @Test func `words of the kernel's that mask, and that bring credentials`() throws {
    let files = ["etc/systemd/system/getty@tty1.service.d/a.conf": Self.autologin]
    #expect(try rows("login@tty1", files)["pi"] == .notRequired)
    #expect(
      try rows("login@tty1", files.merging(["proc/cmdline": "systemd.mask=getty@tty1.service"]) { $1 }).isEmpty)
    let unit = Self.getty + "ImportCredential=agetty.*\nImportCredential=login.*\n"
    for words in [
      "systemd.set_credential=agetty.autologin:pi systemd.set_credential_binary=login.noauth:eWVz",
      "systemd.set-credential=agetty.autologin:pi \"systemd.set-credential-binary=login.noauth:eWVz\"",
    ] {
      let credentials = ["usr/lib/systemd/system/getty@.service": unit, "proc/cmdline": words]
      #expect(try rows("login@tty*", credentials)["pi"] == .notRequired)
    }
  }

  // MARK: Other inits

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

  @Test(
    arguments: [
      ("::respawn:/bin/sh", "console"), ("::respawn:/bin/\\\nsh # c", "console"),
      ("/dev/tty1::respawn:/bin/sh", "tty1"), ("::sysinit:/bin/sh", "console"), ("::sysinit:-/bin/ash -l", "console"),
      ("::sysinit:/bin/login -f root", "console"), ("::sysinit:/bin/sh /etc/rc", nil),
      ("::sysinit:/bin/sh -c /etc/rc", nil), ("::respawn: /bin/sh", nil), ("::respawn:\t-/bin/sh", nil),
      ("::respawn: /bin/sh </dev/console", "console"),
      ("tty1 ::respawn:/bin/sh", nil), ("\ttty1::respawn:/bin/sh", nil), (" ::respawn:/bin/sh", nil),
      ("::respawn :/bin/sh", nil), (":: respawn:/bin/sh", nil), ("# c\\\n::respawn:/bin/sh", nil),
      ("::respawn:/bin/sh\r", nil), ("tty1::respawn:/sbin/getty -n -l /bin/sh 38400 tty1\r", nil),
      ("tty1::respawn:/sbin/getty -n -l /bin/sh 38400 tty1 vt100\r", "tty1"),
      ("null::respawn:/bin/sh", nil), ("/dev/null::respawn:-/bin/sh", nil),
      ("null::respawn:/bin/sh </dev/tty2 >/dev/tty2", "tty2"),
    ] as [(String, String?)])
  func `BusyBox takes the lines of an inittab as they are`(line: String, terminal: String?) throws {
    let rows = try look(["etc/inittab": line + "\n"], links: ["sbin/init": "/bin/busybox"]).rows
    #expect(rows.filter { $0.value == .notRequired }.map(\.key) == (terminal.map { ["login@\($0) root"] } ?? []))
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

  @Test(arguments: ["/usr/bin/app", "/sbin/getty 38400 tty4 -n -l /usr/bin/app"])
  func `an application is no door, whether a getty starts it or init`(process: String) throws {
    #expect(try look(["etc/inittab": "4:3:respawn:\(process)\n", "usr/bin/app": ""]).rows.isEmpty)
    // A login program of its own is one, and what a name is handed to.
    for other in ["/usr/bin/mylogin", "/sbin/getty -n -l /usr/bin/mylogin tty4", "/sbin/getty -l /usr/bin/app tty4"] {
      #expect(try look(["etc/inittab": "4:3:respawn:\(other)\n"]).rows.values.contains(.unknown), "\(other)")
    }
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

  @Test(arguments: [
    ("agetty-tty1/run", "#!/bin/sh\nexec agetty --autologin pi tty1 38400 linux 2>&1\n"),
    ("getty-tty1/run", "#!/bin/sh\nexec /sbin/agetty -a pi tty1\n"),
    ("agetty-autologin-tty1/conf", "GETTY_ARGS=\"--noclear --autologin pi\"\n"),
  ])
  func `runit: what runs is what is written`(file: String, text: String) throws {
    let void = """
      #!/bin/sh
      tty=${PWD##*-}
      [ -r conf ] && . ./conf
      GETTY=agetty
      exec chpst -P ${GETTY} ${GETTY_ARGS} "${tty}" "${BAUD_RATE}" "${TERM_NAME}"

      """
    let name = String(file.prefix { $0 != "/" })
    let links = ["sbin/init": "runit-init", "etc/service/\(name)": "/etc/sv/\(name)"]
    let files = ["etc/sv/\(file)": text]
    #expect(try look(files, links: links).rows["login@tty1 pi"] == .notRequired)
    let run = ["etc/sv/\(name)/run": void].merging(files) { $1 }
    #expect(try look(run, links: links).rows["login@tty1 pi"] == .notRequired)
    #expect(try look(["etc/sv/\(name)/run": void], links: links).rows["login@console pi"] == .required)
  }

  @Test func `OpenRC as the first process`() throws {
    let found = try look(
      ["etc/conf.d/agetty.tty1": "agetty_options=\"--autologin pi\"\n"],
      links: ["sbin/init": "openrc-init", "etc/runlevels/default/agetty.tty1": "/etc/init.d/agetty.tty1"])
    #expect(found.rows["login@tty1 pi"] == .notRequired)
  }

  @Test func `inittab: more files of sysvinit's, later actions of procd's, sessions`() throws {
    let lines = "id:2:initdefault:\n1:2:respawn:/sbin/getty 38400 tty1\n"
    let more = "2:2:respawn:/sbin/agetty --autologin pi tty2\n"
    let found = try look([
      "etc/inittab": lines, "etc/inittab.d/a.tab": more, "etc/inittab.d/b.txt": "3:2:once:/bin/sh\n",
    ])
    #expect(found.rows["login@tty2 pi"] == .notRequired)
    #expect(found.rows["login@console root"] == .required)
    let session = try look(["etc/inittab": lines + "x:2:respawn:/bin/su - pi -c startx\n"]).rows
    #expect(session["login@console pi"] == .unknown)
    #expect(session["login@console ann"] == .required)
    for line in ["askconsolelate:/bin/ash --login", "respawnlate:/bin/ash --login", "askfirst: /bin/ash --login\r"] {
      let procd = try look(["sbin/procd": "", "etc/inittab": "::\(line)\n"])
      #expect(procd.rows["login@console root"] == .notRequired)
    }
  }

  @Test func `no init, no door; an unknown one leaves the check open`() throws {
    #expect(try look([:]).rows.isEmpty)
    // Who gets in without a passcode is not known either.
    for file in ["sbin/init", "gnu/store/x", "var/guix/x", "boot/grub/grub.cfg"] {
      let other = try look([file: "ELF"])
      #expect(other.rows.isEmpty)
      #expect(other.result.gaps.map(\.checks) == [[.ownerAuthentication, .passcode]], "\(file)")
    }
    #expect(try look(["gnu/store/x": "", "proc/1/comm": "shepherd\n"]).result.gaps.count == 1)
    #expect(try look(["gnu/store/x": "", "proc/1/comm": "bash\n"]).result.gaps.isEmpty)
  }

  @Test(
    arguments: [
      ("mount -t proc none /proc\nexec setsid cttyhack /bin/sh\n", .notRequired),
      ("exec /sbin/getty -L console 0 vt100\n", .required),
      ("exec switch_root /root /sbin/init\nexec /bin/sh\n", nil), ("exec /usr/bin/app\n", nil),
    ] as [(String, Answer?)])
  func `a script as the first process`(script: String, wanted: Answer?) throws {
    let found = try look(["init": "#!/bin/sh\n" + script])
    #expect(found.rows["login@console root"] == wanted)
    #expect(found.result.gaps.isEmpty == (wanted != nil))
  }

  @Test func `inittab: a dash makes a login shell of what is not known`() throws {
    let found = try look(["etc/inittab": "tty1::respawn:-/opt/menu\n"], links: ["sbin/init": "/bin/busybox"]).rows
    #expect(found["login@tty1 root"] == .unknown)
  }
}
