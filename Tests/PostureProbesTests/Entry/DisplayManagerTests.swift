import Posture
import TestKit
import Testing

@testable import PostureProbes

/// Each display manager's files in their precedence, and which one runs.
struct DisplayManagerTests {
  private func context(_ files: [String: String], links: [String: String] = [:]) throws -> AuthContext {
    let tree = try FixtureTree(["etc/passwd": "kim:x:1000:1000::/home/kim:/bin/sh\n"].merging(files) { $1 })
    for (path, target) in links { tree.link(path, to: target) }
    let context = AuthContext(try System(root: tree.root))
    // What is read late is read while the tree is there.
    for manager in DisplayManager.allCases { _ = manager.setup(context) }
    _ = DisplayManagerSearch(context).found
    return context
  }

  private func users(_ manager: DisplayManager, _ files: [String: String]) throws -> [String] {
    let tree = try FixtureTree(["etc/passwd": "kim:x:1000:1000::/home/kim:/bin/sh\n"].merging(files) { $1 })
    return manager.setup(AuthContext(try System(root: tree.root))).automatic.map { "\($0.user) \($0.note)" }
  }

  // MARK: gdm

  @Test(arguments: [
    ("true", true), ("True", true), ("TRUE", true), ("1", true), ("yes", false), ("False", false), ("0", false),
    ("", false), ("true ", false), ("true\r", true),
  ])
  func `gdm's booleans`(_ word: String, _ isOn: Bool) throws {
    let found = try users(
      .gdm, ["etc/gdm/custom.conf": "[daemon]\nAutomaticLoginEnable = \(word)\nAutomaticLogin=kim\n"])
    #expect(found.isEmpty == !isOn)
  }

  @Test func `gdm needs both keys, in its group, and a file that GLib takes`() throws {
    let on = "AutomaticLoginEnable=true\nAutomaticLogin=kim\n"
    #expect(try users(.gdm, ["etc/gdm/custom.conf": "[daemon]\nAutomaticLogin=kim\n"]).isEmpty)
    #expect(try users(.gdm, ["etc/gdm/custom.conf": "[daemon]\nAutomaticLoginEnable=true\nAutomaticLogin=\n"]).isEmpty)
    #expect(try users(.gdm, ["etc/gdm/custom.conf": "[security]\n" + on]).isEmpty)
    #expect(try users(.gdm, ["etc/gdm/custom.conf": "[daemon]\nrubbish\n" + on]).isEmpty)
    // It goes on with what stands before a bad line.
    #expect(try users(.gdm, ["etc/gdm/custom.conf": "[daemon]\n" + on + "rubbish\n"]).count == 1)
    #expect(try users(.gdm, ["etc/gdm/custom.conf": "[daemon]\n#\(on)"]).isEmpty)
    #expect(try users(.gdm, ["etc/gdm/custom.conf": "[daemon]\n" + on]) == ["kim automatic login once per boot"])
  }

  @Test func `gdm's file depends on the distribution`() throws {
    let on = "[daemon]\nAutomaticLoginEnable=true\nAutomaticLogin=kim\n"
    let debian = ["etc/os-release": "ID=debian\n", "etc/gdm3/daemon.conf": "[daemon]\n"]
    #expect(try users(.gdm, debian.merging(["etc/gdm3/custom.conf": on]) { $1 }).isEmpty)
    #expect(try users(.gdm, ["etc/os-release": "ID=debian\n", "etc/gdm3/daemon.conf": on]).count == 1)
    #expect(
      try users(.gdm, ["etc/os-release": "ID=pop\nID_LIKE=\"ubuntu debian\"\n", "etc/gdm3/custom.conf": on]).count == 1)
    #expect(try users(.gdm, ["etc/gdm/custom.conf": "[daemon]\n", "run/gdm/custom.conf": on]).count == 1)
    let off = "[daemon]\nAutomaticLoginEnable=false\n"
    #expect(try users(.gdm, ["etc/gdm/custom.conf": on, "run/gdm/custom.conf": off]).isEmpty)
  }

  @Test func `SUSE's gdm takes the system's own preset, others do not`() throws {
    let preset = "DISPLAYMANAGER=\"gdm\"\nDISPLAYMANAGER_AUTOLOGIN=\"kim\"\n"
    let files = { (id: String, text: String) in
      ["etc/os-release": id, "etc/sysconfig/displaymanager": text]
    }
    #expect(try users(.gdm, files("ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n", preset)).count == 1)
    #expect(try users(.gdm, files("ID=\"sles\"\n", preset)).count == 1)
    #expect(try users(.gdm, files("ID=\"sles\"\n", "DISPLAYMANAGER_AUTOLOGIN=\"\"\n")).isEmpty)
    #expect(try users(.gdm, files("ID=fedora\n", preset)).isEmpty)
  }

  // MARK: nodm, slim

  @Test func `nodm asks nobody, slim whom it does not know`() throws {
    let nodm = ["etc/default/nodm": "NODM_ENABLED=true\nNODM_USER=kim\n"]
    #expect(try users(.nodm, nodm) == ["kim automatic login"])
    #expect(try users(.nodm, ["etc/default/nodm": "NODM_ENABLED=true\n"]) == ["root automatic login"])
    #expect(try users(.slim, ["etc/slim.conf": "# x\nauto_login   yes\ndefault_user\tkim\n"]).count == 1)
    #expect(try users(.slim, ["etc/slim.conf": "auto_login no\ndefault_user kim\n"]).isEmpty)
    #expect(try users(.slim, ["etc/slim.conf": "auto_login yes\n"]).isEmpty)
    for (enabled, isStarted) in [("true", true), ("false", false), ("no", false)] {
      let files = [
        "etc/default/nodm": "NODM_ENABLED=\(enabled)\nNODM_USER=kim\n",
        "usr/lib/systemd/system/nodm.service": "[Service]\nExecStart=/usr/sbin/nodm\n",
        "usr/lib/systemd/system/graphical.target": "[Unit]\n",
      ]
      let found = DisplayManagerSearch(try context(files)).found.filter { $0.manager == .nodm }
      #expect(found.map(\.isStarted) == [isStarted], "\(enabled)")
    }
    let people = try PeopleTree([
      "/etc/default/nodm": "NODM_USER=alice\n", "/usr/lib/systemd/system/graphical.target": "[Unit]\n",
      "/usr/lib/systemd/system/nodm.service": "[Service]\nExecStart=/usr/sbin/nodm\n",
    ])
    #expect(try people.door("graphical@nodm", "bob")?.because.map(\.code) == ["displayManager.asksNobody"])
  }

  // MARK: Sessions that scripts start

  private func answers(_ door: String, _ files: [String: String], _ links: [String: String]) throws -> [String: Answer]
  {
    let tree = try FixtureTree(["etc/passwd": "kim:x:1000:1000::/home/kim:/bin/sh\n"].merging(files) { $1 })
    for (path, target) in links { tree.link(path, to: target) }
    let rows = GraphicalDoors.look(AuthContext(try System(root: tree.root))).doors.filter { $0.name == door }
    return Dictionary(uniqueKeysWithValues: rows.map { ($0.subject, $0.answer) })
  }

  @Test(
    arguments: [
      ("AUTOLOGIN_UID=\"1000\"\n", .notRequired), ("", .notRequired), ("AUTOLOGIN_UID=kim\n", .notRequired),
      // It does not start for nobody.
      ("AUTOLOGIN_UID=10000\n", .closed),
    ] as [(String, Answer)])
  func `tinydm lets one person in`(text: String, wanted: Answer) throws {
    let files = ["bin/busybox": "", "usr/bin/tinydm-run-session": "", "etc/conf.d/tinydm": text, "etc/inittab": ""]
    let links = ["sbin/init": "/bin/busybox", "etc/runlevels/default/tinydm": "/etc/init.d/tinydm"]
    #expect(try answers("graphical@tinydm", files, links)["kim"] == wanted)
    // Its program goes through the account phase of its own service.
    let shut = ["usr/bin/autologin": "", "etc/pam.d/autologin": "account required pam_deny.so\n"]
    let login = ["etc/pam.d/login": "account required pam_permit.so\n"]
    #expect(try answers("graphical@tinydm", files.merging(shut.merging(login) { $1 }) { $1 }, links)["kim"] == .closed)
    let unit = ["usr/lib/systemd/systemd": "", "usr/lib/systemd/system/tinydm.service": "[Service]\n"]
    let target = ["usr/lib/systemd/system/graphical.target": "[Unit]\n"]
    #expect(try answers("graphical@tinydm", unit.merging(target) { $1 }, [:])["kim"] == .unknown)
  }

  @Test(
    arguments: [
      (["etc/X11/Xusername": "kim\n"], true, Answer.notRequired), ([:], true, .closed),
      (["etc/X11/Xusername": "kim\n"], false, .unknown),
    ] as [([String: String], Bool, Answer)])
  func `an X server without a manager, by OpenEmbedded's script`(
    files: [String: String], isStock: Bool, wanted: Answer
  ) throws {
    let name = isStock ? "`cat /etc/X11/Xusername`" : "`choose`"
    let script = "#!/bin/sh\nusername=root\nusername=\(name)\nsu -l -c '/etc/X11/Xserver&' $username\n"
    let base = ["bin/busybox": "", "etc/inittab": "id:5:initdefault:\n", "etc/init.d/xserver-nodm": script]
    let links = ["etc/rc5.d/S09xserver-nodm": "../init.d/xserver-nodm"]
    #expect(try answers("graphical@xserver-nodm", base.merging(files) { $1 }, links)["kim"] == wanted)
  }

  @Test(
    arguments: [
      ("User=kim\n", .notRequired), ("User=1000\n", .notRequired), ("", .closed),
      ("User=kim\nPAMName=shut\n", .closed),
    ] as [(String, Answer)])
  func `an X server without a manager, by OpenEmbedded's unit`(user: String, wanted: Answer) throws {
    let files = [
      "usr/lib/systemd/systemd": "", "usr/lib/systemd/system/graphical.target": "[Unit]\n",
      "usr/lib/systemd/system/xserver-nodm.service": "[Service]\n\(user)ExecStart=/etc/xserver-nodm/Xserver\n",
      "etc/pam.d/shut": "account required pam_deny.so\n",
    ]
    let alias = ["etc/systemd/system/display-manager.service": "/usr/lib/systemd/system/xserver-nodm.service"]
    #expect(try answers("graphical@xserver-nodm", files, alias)["kim"] == wanted)
  }

  @Test(arguments: [("4", "gdm", true), ("4", "sddm", false), ("3", "gdm", false)])
  func `Slackware's graphical level starts the first manager that is there`(
    level: String, manager: String, isStarted: Bool
  ) throws {
    let script =
      "#!/bin/sh\nif [ -x /usr/bin/kdm ]; then\n  exec /usr/bin/kdm -nodaemon\nelif [ -x /usr/sbin/gdm ]; then\n"
      + "  exec /usr/sbin/gdm\nelif [ -x /usr/bin/sddm ]; then\n  exec /usr/bin/sddm\nfi\n"
    let files = [
      "etc/inittab": "id:\(level):initdefault:\nrc:2345:wait:/etc/rc.d/rc.M\nx1:4:respawn:/etc/rc.d/rc.4\n",
      "etc/rc.d/rc.4": script, "usr/sbin/gdm": "", "usr/bin/sddm": "",
    ]
    #expect(try found(files, ["etc/rc.d/rc3.d/S99tools": "../init.d/tools"]).contains("\(manager) \(isStarted)"))
  }

  @Test(arguments: [("", 30), ("TimedLoginDelay=5\n", 5), ("TimedLoginDelay=0\n", 10)])
  func `gdm's timed login`(_ line: String, _ seconds: Int) throws {
    let text = "[daemon]\nTimedLoginEnable=true\nTimedLogin=kim\n" + line
    #expect(try users(.gdm, ["etc/gdm/custom.conf": text]) == ["kim timed login after \(seconds) s"])
  }

  // MARK: lightdm

  @Test func `lightdm: directories in their order, the single file last`() throws {
    let value = { (name: String) in "[Seat:*]\nautologin-user=\(name)\n" }
    var files: [String: String] = [:]
    let order = [
      "usr/share/lightdm/lightdm.conf.d/90.conf", "usr/local/share/lightdm/lightdm.conf.d/80.conf",
      "etc/xdg/lightdm/lightdm.conf.d/70.conf", "etc/lightdm/lightdm.conf.d/60.conf",
      "etc/lightdm/lightdm.conf.d/61.conf", "etc/lightdm/lightdm.conf",
    ]
    for (index, path) in order.enumerated() {
      files[path] = value("u\(index)")
      #expect(try users(.lightdm, files) == ["u\(index) automatic login once per boot"])
    }
    files["etc/lightdm/lightdm.conf.d/99.conf.bak"] = value("no")
    #expect(try users(.lightdm, files) == ["u5 automatic login once per boot"])
    files["etc/lightdm/lightdm.conf"] = value("")
    #expect(try users(.lightdm, files).isEmpty)
  }

  @Test func `lightdm: old names, patterns, other seats, the timeout`() throws {
    let one = { (text: String) in try users(.lightdm, ["etc/lightdm/lightdm.conf": text]) }
    #expect(
      try one("[SeatDefaults]\nautologin-user=a\nautologin-user-timeout=10\n") == ["a automatic login after 10 s"])
    #expect(try one("[Seat:*]\nautologin-user=a\n[Seat:seat0]\nautologin-user=\n").isEmpty)
    #expect(try one("[Seat:seat?]\nautologin-user=b\n").count == 1)
    #expect(try one("[Seat:xlocal*]\nautologin-user=b\n").isEmpty)
    #expect(try one("[Seat:seat-usb]\nautologin-user=c\n").count == 1)
    #expect(try one("[LightDM]\nautologin-user=c\n").isEmpty)
    // GLib keeps the blanks behind a value.
    #expect(try one("[Seat:*]\nautologin-user=  a \n") == ["a  automatic login once per boot"])
  }

  @Test(arguments: [
    ("autologin-user=kim", true), ("[Seat:seat[0-9]]", true), ("[Seat:*] # ours", true), ("[Seat:*]\nk[=1", true),
    ("[Seat:*]\nk[de]x=1", true), ("[Seat:*]\nk]=1", true), ("[Seat:*]\nk[d e]=1", true), ("[]", true),
    ("[Seat:*] \t", false), ("[Seat:*]\nk[de]=1\nk k=1\nk[]=1", false),
  ])
  func `lightdm: a file that is no key file leaves the door unknown`(_ text: String, _ isBroken: Bool) throws {
    let tree = try FixtureTree(["etc/lightdm/lightdm.conf": "\(text)\n"])
    let fault = DisplayManager.lightdm.setup(AuthContext(try System(root: tree.root))).fault
    #expect(fault?.code == (isBroken ? "displayManagerBroken" : nil))
  }

  @Test func `lightdm: a guest needs the script`() throws {
    let setup = { (files: [String: String]) -> Bool in
      let tree = try FixtureTree(files)
      return DisplayManager.lightdm.setup(AuthContext(try System(root: tree.root))).guest != nil
    }
    #expect(try !setup(["etc/lightdm/lightdm.conf": "[Seat:*]\n"]))
    #expect(try setup(["usr/sbin/guest-account": "x"]))
    #expect(try !setup(["usr/sbin/guest-account": "x", "etc/lightdm/lightdm.conf": "[Seat:*]\nallow-guest=false\n"]))
    let script = ["opt/guest": "x"]
    let own = "[LightDM]\nguest-account-script=/opt/guest\n"
    // Without a script that makes the account no guest session can start.
    #expect(try !setup(["etc/lightdm/lightdm.conf": "[Seat:*]\nautologin-guest=true\n"]))
    #expect(try !setup(["etc/lightdm/lightdm.conf": own]))
    for (text, isOpen) in [
      ("", true), ("allow-guest=false\n", false), ("allow-guest=false\nautologin-guest=true\n", true),
      ("allow-guest=false\nautologin-guest=True\n", false),
    ] {
      let file = ["etc/lightdm/lightdm.conf": own + "[Seat:*]\n" + text]
      #expect(try setup(script.merging(file) { $1 }) == isOpen)
    }
  }

  @Test func `lightdm: a guest is a subject, and nobody's account`() throws {
    let people = try PeopleTree(
      services: ["lightdm"],
      [
        "/usr/lib/systemd/systemd": "", "/usr/sbin/guest-account": "x",
        "/usr/lib/systemd/system/lightdm.service": "[Service]\nExecStart=/usr/sbin/lightdm\n",
      ])
    let facts = try people.facts
    #expect(facts.doors.contains { $0.subject == "guest" && $0.answer == .notRequired })
    let guest = facts.subjects.filter { $0.name == "guest" }
    #expect(guest.map(\.kind) == [.service] && guest.map(\.password) == [.none] && guest.first?.uid == nil)
  }

  // MARK: sddm

  @Test func `sddm: the single file wins, any suffix counts, hidden files do not`() throws {
    let session = ["usr/share/wayland-sessions/plasma.desktop": "[Desktop Entry]\n"]
    let value = { (name: String) in "[Autologin]\nUser=\(name) # why\nSession=plasma\n" }
    let one = { (files: [String: String]) in try users(.sddm, session.merging(files) { $1 }) }
    #expect(try one(["usr/lib/sddm/sddm.conf.d/z": value("a")]) == ["a automatic login once per boot"])
    #expect(
      try one(["usr/lib/sddm/sddm.conf.d/z": value("a"), "etc/sddm.conf.d/b.bak": value("b")]).first?.first == "b")
    #expect(try one(["etc/sddm.conf.d/.b": value("b")]).isEmpty)
    #expect(try one(["etc/sddm.conf.d/b": value("b"), "etc/sddm.conf": value("c")]).first?.first == "c")
    #expect(try one(["etc/sddm.conf.d/b": value("b"), "etc/sddm.conf": "[Autologin]\nUser=\n"]).isEmpty)
  }

  @Test func `sddm: the session has to be there`() throws {
    let user = "[Autologin]\nUser=kim\n"
    #expect(try users(.sddm, ["etc/sddm.conf": user + "Session=gone\n"]).isEmpty)
    #expect(try users(.sddm, ["etc/sddm.conf": user]).isEmpty)
    let session = ["usr/share/xsessions/lxqt.desktop": "[Desktop Entry]\n"]
    let last = ["var/lib/sddm/state.conf": "[Last]\nSession=/usr/share/xsessions/lxqt.desktop\n"]
    #expect(try users(.sddm, session.merging(last) { $1 }.merging(["etc/sddm.conf": user]) { $1 }).count == 1)
    let again = user + "Session=lxqt.desktop\nRelogin=true\n"
    #expect(
      try users(.sddm, session.merging(["etc/sddm.conf": again]) { $1 }) == ["kim automatic login after each logout"])
  }

  @Test(arguments: [
    ("Session=k\n[X11]\nSessionDir=/opt/s\n", true), ("Session=k\n[XDisplay]\nSessionDir=/opt/s\n", true),
    ("Session=k\n[General]\nSessionDir=/opt/s\n", false), ("Session=lxqt\n", true),
    ("Session=lxqt\n[X11]\nSessionDir=/opt/s\n", false), ("Session=lxqt\n[Wayland]\nSessionDir=/opt/s\n", true),
    ("Session=k\n[X11]\nSessionDir=/opt/s\n[X11]\nSessionDir=/usr/share/xsessions\n", false),
    ("Session=k\n[X11]\nSessionDir=/usr/share/xsessions,/opt/s\n", true),
    ("Session=/usr/share/xsessions/lxqt.desktop\n", true), ("Session=/opt/s/k.desktop\n", false),
  ])
  func `sddm: sessions lie in the directories that were said last`(_ text: String, _ isThere: Bool) throws {
    let files = [
      "usr/share/xsessions/lxqt.desktop": "", "opt/s/k.desktop": "", "etc/sddm.conf": "[Autologin]\nUser=kim\n" + text,
    ]
    #expect(try users(.sddm, files).isEmpty == !isThere)
  }

  // MARK: greetd, lxdm

  private static let terminal = "[terminal]\nvt = 1\n"
  private static let greeter = "[default_session]\ncommand = \"agreety --cmd sh\"\n"

  private func greetd(_ text: String, _ files: [String: String] = [:]) throws -> DisplayManagerSetup {
    let own = [
      "etc/passwd": "kim:x:1000:1000::/home/kim:/bin/sh\ngreeter:x:990:990::/:/bin/sh\n",
      "etc/greetd/config.toml": text,
    ]
    let tree = try FixtureTree(own.merging(files) { $1 })
    return DisplayManager.greetd.setup(AuthContext(try System(root: tree.root)))
  }

  @Test(arguments: [
    ("", false), ("[initial_session]\ncommand = sway\nuser = kim\n", false), ("  # c\n[other]\nx = \"y\" # c\n", false),
    ("rubbish\n", true), ("[other] # c\n", true), ("[other\n", true), ("; c\n", true), ("[initial_session]\n", true),
    ("[initial_session]\ncommand = \"sway\"\n", true), ("[initial_session]\nuser = \"kim\"\n", true),
    ("[initial_session]\ncommand = \"sway\"\nuser = \"\"\n", true),
    ("[initial_session]\ncommand = \"sway\"\nuser = \"kim\" # me\n", true), ("user = \"gone\"\n", true),
  ])
  func `greetd: a file that it refuses leaves the door unknown`(_ text: String, _ isBroken: Bool) throws {
    let setup = try greetd(Self.terminal + Self.greeter + text)
    #expect(setup.fault?.code == (isBroken ? "displayManagerBroken" : nil))
    #expect(!isBroken || setup.automatic.isEmpty)
  }

  @Test func `greetd needs a terminal, a greeter and its user`() throws {
    for text in [Self.terminal, Self.greeter, "[terminal]\n" + Self.greeter, Self.terminal + "[default_session]\n"] {
      #expect(try greetd(text).fault?.code == "displayManagerBroken")
    }
    let passwd = ["etc/passwd": "kim:x:1000:1000::/home/kim:/bin/sh\n"]
    #expect(try greetd(Self.terminal + Self.greeter, passwd).fault?.code == "displayManagerBroken")
    // A directory may have the user.
    let directory = passwd.merging(["etc/nsswitch.conf": "passwd: files ldap\n"]) { $1 }
    #expect(try greetd(Self.terminal + Self.greeter, directory).fault == nil)
  }

  @Test func `greetd: first session, standing session, greeters`() throws {
    let found = { (text: String, files: [String: String]) in
      try greetd(Self.terminal + text, files).automatic.map { "\($0.user) \($0.note)" }
    }
    let one = { (text: String) in try found(text, [:]) }
    let first = Self.greeter + "[initial_session]\ncommand = \"sway\"\nuser = 'kim'\n"
    #expect(try one(first) == ["kim initial session once per boot"])
    #expect(try one("[default_session]\ncommand = \"sway\"\nuser = \"kim\"\n").count == 1)
    #expect(try one("[default_session]\ncommand = \"tuigreet --cmd sway\"\nuser = \"kim\"\n").isEmpty)
    #expect(try one("[default_session]\ncommand = \"sway\"\nuser = \"greeter\"\n").isEmpty)
    let wrapped = { (command: String, file: String) in
      try found("[default_session]\ncommand = '\(command)'\nuser = \"kim\"\n", ["opt/start": file])
    }
    #expect(try wrapped("/opt/start", "#!/bin/sh\nexec cage -s -- gtkgreet -l\n").isEmpty)
    #expect(try wrapped("sway --config /opt/start", "exec \"wlgreet --command sway; swaymsg exit\"\n").isEmpty)
    #expect(try wrapped("/opt/start", "#!/bin/sh\n# regreet\nexec cage -s -- kiosk\n").count == 1)
    #expect(try wrapped("/opt/start", "#!/bin/sh\nexec /opt/start\n").count == 1)
    let elsewhere = ["usr/lib/systemd/system/greetd.service": "[Service]\nExecStart=greetd --config /etc/other.toml\n"]
    let other = ["etc/other.toml": Self.terminal + first]
    #expect(try found("", elsewhere.merging(other) { $1 }).count == 1)
  }

  static let sessions: [(session: String, text: String, service: String?)] = [
    ("initial_session", "service = \"kiosk\"\n", "kiosk"), ("initial_session", "service = \"gone\"\n", nil),
    ("initial_session", "", nil), ("default_session", "", "greetd-greeter"),
    ("default_session", "service = \"kiosk\"\n", "kiosk"), ("default_session", "service = \"gone\"\n", nil),
  ]

  @Test(arguments: sessions) func `greetd: a session's own service`(
    _ session: String, _ text: String, _ service: String?
  ) throws {
    let before = session == "default_session" ? Self.terminal : Self.terminal + Self.greeter
    let own = before + "[\(session)]\ncommand = \"sway\"\nuser = \"kim\"\n" + text
    let setup = try greetd(own, ["etc/pam.d/kiosk": "", "etc/pam.d/greetd-greeter": ""])
    #expect(setup.automatic.map(\.unasked) == [service])
  }

  @Test func `greetd falls back to login`() throws {
    let service = { (files: [String: String]) in
      let tree = try FixtureTree(files)
      return DisplayManager.greetd.setup(AuthContext(try System(root: tree.root))).services
    }
    #expect(try service(["usr/etc/pam.d/greetd": ""]) == ["login"])
    #expect(try service(["usr/lib/pam.d/greetd": ""]) == ["greetd"])
    #expect(try service(["etc/greetd/config.toml": "[general]\nservice = \"mine\"\n"]) == ["mine"])
  }

  @Test func `lxdm's own key`() throws {
    #expect(try users(.lxdm, ["etc/lxdm/lxdm.conf": "[base]\nautologin=kim\n"]).count == 1)
    #expect(try users(.lxdm, ["etc/lxdm/lxdm.conf": "[base]\n# autologin=kim\n"]).isEmpty)
  }

  // MARK: Which one runs

  private static let target = "[Unit]\nRequires=multi-user.target\nWants=display-manager.service\n"

  private func found(_ files: [String: String], _ links: [String: String]) throws -> [String] {
    let context = try context(files, links: links)
    return DisplayManagerSearch(context).found.map { "\($0.manager.rawValue) \($0.isStarted)" }
  }

  @Test func `the alias decides, with the default target`() throws {
    let files = [
      "usr/lib/systemd/system/lightdm.service": "[Service]\nExecStart=/usr/sbin/lightdm\n",
      "usr/lib/systemd/system/gdm3.service": "[Service]\nExecStart=/usr/sbin/gdm3\n",
      "usr/lib/systemd/system/graphical.target": Self.target,
      "usr/lib/systemd/system/multi-user.target": "[Unit]\n",
    ]
    let alias = ["etc/systemd/system/display-manager.service": "/lib/systemd/system/lightdm.service"]
    #expect(try found(files, alias).sorted() == ["gdm false", "lightdm true"])
    let text = alias.merging(["etc/systemd/system/default.target": "/lib/systemd/system/multi-user.target"]) { $1 }
    #expect(try found(files, text).sorted() == ["gdm false", "lightdm false"])
    let masked = alias.merging(["etc/systemd/system/lightdm.service": "/dev/null"]) { $1 }
    #expect(try !found(files, masked).contains("lightdm true"))
    let unit = ["etc/systemd/system/display-manager.service": "[Service]\nExecStart=/nix/store/x/bin/sddm\n"]
    #expect(try found(unit, [:]) == ["sddm true"])
  }

  @Test func `Debian's choice overrules a unit that asks for it`() throws {
    let check = "ExecStartPre=/bin/sh -c '[ \"$(cat /etc/X11/default-display-manager)\" = \"/usr/sbin/lightdm\" ]'\n"
    let files = [
      "usr/lib/systemd/system/lightdm.service": "[Service]\n\(check)ExecStart=/usr/sbin/lightdm\n",
      "etc/X11/default-display-manager": "/usr/sbin/gdm3\n",
    ]
    let alias = ["etc/systemd/system/display-manager.service": "/lib/systemd/system/lightdm.service"]
    #expect(try found(files, alias).contains("lightdm false"))
  }

  @Test func `an unknown display manager leaves the check open`() throws {
    let context = try context(
      ["etc/systemd/system/display-manager.service": "[Service]\nExecStart=/opt/kiosk/dm\n"], links: [:])
    #expect(GraphicalDoors.look(context).gaps.map(\.checks) == [[.ownerAuthentication]])
  }
}
