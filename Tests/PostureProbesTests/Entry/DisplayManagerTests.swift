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

  @Test func `lightdm: a file that is no key file leaves the door unknown`() throws {
    let tree = try FixtureTree(["etc/lightdm/lightdm.conf": "autologin-user=kim\n"])
    #expect(
      DisplayManager.lightdm.setup(AuthContext(try System(root: tree.root))).fault?.code == "displayManagerBroken")
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

  // MARK: greetd, lxdm

  @Test func `greetd: first session, standing session, greeters`() throws {
    let one = { (text: String) in try users(.greetd, ["etc/greetd/config.toml": text]) }
    #expect(try one("[initial_session]\ncommand = \"sway\"\nuser = \"kim\"\n") == ["kim initial session once per boot"])
    #expect(try one("[initial_session]\nuser = 'kim'\n").isEmpty)
    #expect(try one("[default_session]\ncommand = \"sway\"\nuser = \"kim\" # me\n").count == 1)
    #expect(try one("[default_session]\ncommand = \"tuigreet --cmd sway\"\nuser = \"kim\"\n").isEmpty)
    #expect(try one("[default_session]\ncommand = \"sway\"\nuser = \"greeter\"\n").isEmpty)
    let wrapped = { (command: String, file: String) in
      try users(
        .greetd,
        [
          "etc/greetd/config.toml": "[default_session]\ncommand = \"\(command)\"\nuser = \"kim\"\n", "opt/start": file,
        ])
    }
    #expect(try wrapped("/opt/start", "#!/bin/sh\nexec cage -s -- gtkgreet -l\n").isEmpty)
    #expect(try wrapped("sway --config /opt/start", "exec \"wlgreet --command sway; swaymsg exit\"\n").isEmpty)
    #expect(try wrapped("/opt/start", "#!/bin/sh\n# regreet\nexec cage -s -- kiosk\n").count == 1)
    #expect(try wrapped("/opt/start", "#!/bin/sh\nexec /opt/start\n").count == 1)
    let elsewhere = ["usr/lib/systemd/system/greetd.service": "[Service]\nExecStart=greetd --config /etc/other.toml\n"]
    let other = ["etc/other.toml": "[initial_session]\ncommand = \"x\"\nuser = \"kim\"\n"]
    #expect(try users(.greetd, elsewhere.merging(other) { $1 }).count == 1)
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
