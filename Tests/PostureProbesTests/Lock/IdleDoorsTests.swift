import Posture
import TestKit
import Testing

@testable import PostureProbes

/// Whether an abandoned session is locked, desktop by desktop. The lockers' own service lets anybody in, so that a
/// locked session is told from an open one by its reasons.
struct IdleDoorsTests {
  private static let base = [
    "etc/passwd": "kim:x:1000:1000::/home/kim:/bin/sh\n",
    "etc/shadow": "kim:$6$saltsalt$\(String(repeating: "a", count: 86)):1::::::\n",
    "etc/pam.d/other": "auth required pam_unix.so\n", "lib/security/pam_unix.so": "",
  ]

  private func idle(_ desktop: Desktop, _ program: String, _ files: [String: [UInt8]]) throws -> Door? {
    let tree = try FixtureTree(Self.base)
    try tree.write("usr/bin/\(program)", "")
    for (path, bytes) in files { try tree.write(path, bytes) }
    let doors = IdleDoors.look(AuthContext(try System(root: tree.root))).doors
    return doors.first { $0.name == "idle@\(desktop.rawValue)" && $0.subject == "kim" }
  }

  private func answer(_ desktop: Desktop, _ program: String, _ files: [String: String] = [:]) throws -> Answer? {
    try idle(desktop, program, files.mapValues { Array($0.utf8) })?.answer
  }

  // MARK: GNOME

  private func gnome(_ databases: [String: GVDBWriter], _ profile: String? = nil) throws -> Answer? {
    var files = databases.mapValues(\.bytes)
    if let profile { files["etc/dconf/profile/user"] = Array(profile.utf8) }
    return try idle(.gnome, "gnome-shell", files)?.answer
  }

  private static let user = "home/kim/.config/dconf/user"
  private static let delay = "/org/gnome/desktop/session/idle-delay"
  private static let enabled = "/org/gnome/desktop/screensaver/lock-enabled"
  private static let disabled = "/org/gnome/desktop/lockdown/disable-lock-screen"

  private func database(_ values: [(String, String, [UInt8])], locks: [String] = []) -> GVDBWriter {
    var writer = GVDBWriter()
    writer.values = values
    writer.locks = locks
    return writer
  }

  @Test func `GNOME: three keys together`() throws {
    #expect(try gnome([:]) == .required)
    #expect(try gnome([Self.user: database([(Self.delay, "u", [0, 0, 0, 0])])]) == .notRequired)
    #expect(try gnome([Self.user: database([(Self.delay, "u", [0, 1, 0, 0])])]) == .required)
    #expect(try gnome([Self.user: database([(Self.enabled, "b", [0])])]) == .notRequired)
    #expect(try gnome([Self.user: database([(Self.disabled, "b", [1])])]) == .notRequired)
    // A value of another type is as good as none.
    #expect(try gnome([Self.user: database([(Self.enabled, "s", [0])])]) == .required)
  }

  @Test func `GNOME: the user's word before the system's, unless it is locked`() throws {
    let open = database([(Self.enabled, "b", [0])])
    let shut = database([(Self.enabled, "b", [1])])
    let fixed = database([(Self.enabled, "b", [1])], locks: [Self.enabled])
    let profile = "user-db:user\nsystem-db:site\n"
    #expect(try gnome([Self.user: open, "etc/dconf/db/site": shut], profile) == .notRequired)
    #expect(try gnome([Self.user: open, "etc/dconf/db/site": fixed], profile) == .required)
    #expect(try gnome([Self.user: shut, "etc/dconf/db/site": open], profile) == .required)
    #expect(try gnome(["etc/dconf/db/site": open], profile) == .notRequired)
    // Without a profile the system's database is not asked.
    #expect(try gnome(["etc/dconf/db/site": open]) == .required)
  }

  @Test func `GNOME: a value of another type counts as none, and hides what comes after it`() throws {
    let wrong = database([(Self.delay, "i", [0, 0, 0, 0]), (Self.enabled, "(b)", [0])])
    let open = database([(Self.delay, "u", [0, 0, 0, 0]), (Self.enabled, "b", [0])])
    let profile = "user-db:user\nsystem-db:site\n"
    #expect(try gnome([Self.user: wrong]) == .required)
    #expect(try gnome([Self.user: wrong, "etc/dconf/db/site": open], profile) == .required)
    #expect(try gnome([Self.user: open, "etc/dconf/db/site": wrong], profile) == .notRequired)
    // MATE's own key is signed.
    let mate = { (type: String) in
      let delay = database([("/org/mate/session/idle-delay", type, [0, 0, 0, 0])])
      return try idle(.mate, "mate-session", [Self.user: delay.bytes])?.answer
    }
    #expect(try mate("i") == .notRequired)
    #expect(try mate("u") == .required)
  }

  @Test(arguments: [
    ("user-db:user\nsystem-db:site # ours\n", Answer.notRequired), ("\t system-db:site#x\n", .notRequired),
    ("system-db : site\n", .required), ("system-db: site\n", .required), ("# system-db:site\n", .required),
    ("user-db:user \\\nsystem-db:site\n", .notRequired),
  ])
  func `GNOME: the profile's lines`(_ profile: String, _ expected: Answer) throws {
    #expect(try gnome(["etc/dconf/db/site": database([(Self.enabled, "b", [0])])], profile) == expected)
  }

  @Test func `GNOME: a vendor's override is in the compiled schemas`() throws {
    // The schemas' file has a table for each schema: the lock table of the writer has the same form.
    #expect(
      try idle(.gnome, "gnome-shell", ["usr/share/glib-2.0/schemas/gschemas.compiled": [1, 2, 3]])?.answer == .required)
  }

  @Test func `GNOME: a database that cannot be read leaves the door unknown`() throws {
    let tree = try FixtureTree(Self.base)
    try tree.write("usr/bin/gnome-shell", "")
    tree.makeFIFO(Self.user)
    let doors = IdleDoors.look(AuthContext(try System(root: tree.root))).doors
    #expect(doors.map(\.answer) == [.unknown])
  }

  @Test(arguments: [("lightdm", Answer.notRequired), ("gdm", .required)])
  func `GNOME: its shell asks gdm to lock`(_ manager: String, _ expected: Answer) throws {
    let unit = [
      "usr/lib/systemd/systemd": "",
      "etc/systemd/system/display-manager.service": "[Service]\nExecStart=/usr/sbin/\(manager)\n",
    ]
    #expect(try answer(.gnome, "gnome-shell", unit) == expected)
    let tree = try FixtureTree(unit.merging(["usr/bin/gnome-shell": ""]) { $1 })
    let lockers = UnlockDoors.lockers(AuthContext(try System(root: tree.root)))
    #expect(lockers == (expected == .required ? [.gnome] : []))
  }

  @Test func `Budgie: with a locker of its own or none`() throws {
    #expect(try answer(.budgie, "budgie-panel") == .notRequired)
    #expect(try answer(.budgie, "budgie-panel", ["usr/bin/budgie-screensaver": ""]) == .required)
    #expect(try answer(.budgie, "budgie-panel", ["usr/bin/gtklock": ""]) == .unknown)
  }

  // MARK: KDE

  @Test(arguments: [
    ("", Answer.required), ("[Daemon]\nAutolock=false\n", .notRequired), ("[Daemon]\nTimeout=0\n", .notRequired),
    ("[Daemon]\nTimeout=30\n", .required), ("[Other]\nAutolock=false\n", .required),
    ("[Daemon]\nAutolock=no\n", .notRequired), ("[Daemon]\nAutolock=Off\n", .notRequired),
    ("[Daemon]\nAutolock=perhaps\n", .required), ("[Daemon]\nLock=false\n", .notRequired),
    ("[Daemon]\nRequirePassword=false\n", .notRequired), ("[Daemon] # ours\nAutolock=false\n", .notRequired),
    ("[Daemon][x]\nAutolock=false\n", .required), ("[Daemon]\n[x\nAutolock=false\n", .notRequired),
    ("[Daemon]\nTimeout=10\\\nAutolock=false\n", .notRequired), ("[Daemon]\nAutolock[de]=false\n", .required),
    ("[Daemon]\nAutolock[$i]=false\nAutolock=true\n", .notRequired),
    ("[Daemon][$i]\nAutolock=false\nAutolock=true\n", .notRequired),
    ("[Daemon][$i] # ours\nAutolock=false\n", .required), ("[Daemon]\nAutolock=fal\\x73e\n", .notRequired),
    ("[D\\x61emon]\nAuto\\x6cock[$e]=false\n", .notRequired), ("[Daemon]\nAutolock=\\false\n", .required),
  ])
  func `KDE's own file`(_ text: String, _ expected: Answer) throws {
    #expect(try answer(.kde, "plasmashell", ["home/kim/.config/kscreenlockerrc": text]) == expected)
  }

  @Test(arguments: [
    "[Daemon]\nAutolock[$i]=true\n", "[Daemon][$i]\nAutolock=true\n", "[$i]\n[Daemon]\nAutolock=true\n",
  ])
  func `KDE: what the system fixes stays`(_ system: String) throws {
    let user = ["home/kim/.config/kscreenlockerrc": "[Daemon]\nAutolock=false\n"]
    #expect(try answer(.kde, "plasmashell", user.merging(["etc/xdg/kscreenlockerrc": system]) { $1 }) == .required)
    let plain = ["etc/xdg/kscreenlockerrc": "[Daemon]\nAutolock=true\n"]
    #expect(try answer(.kde, "plasmashell", user.merging(plain) { $1 }) == .notRequired)
  }

  @Test(arguments: [
    ("Autolock[$d]", Answer.required), ("Autolock[$d]=false", .required), ("Autolock[$x]", .notRequired),
    ("Autolock[$i][$d]", .notRequired), ("Autolock[$i]", .notRequired), ("Autolock[$d]\nAutolock=no", .notRequired),
  ])
  func `KDE: a key that is deleted`(_ line: String, _ expected: Answer) throws {
    let files = [
      "etc/xdg/kscreenlockerrc": "[Daemon]\nAutolock=false\n",
      "home/kim/.config/kscreenlockerrc": "[Daemon]\n\(line)\n",
    ]
    #expect(try answer(.kde, "plasmashell", files) == expected)
  }

  @Test func `KDE: what all of it has in common comes first`() throws {
    let globals = { (folder: String, text: String) in ["\(folder)/kdeglobals": "\(text)[Daemon]\nAutolock=false\n"] }
    let own = ["home/kim/.config/kscreenlockerrc": "[Daemon]\nAutolock=true\n"]
    #expect(try answer(.kde, "plasmashell", globals("etc/xdg", "")) == .notRequired)
    #expect(try answer(.kde, "plasmashell", globals("home/kim/.config", "")) == .notRequired)
    #expect(try answer(.kde, "plasmashell", globals("etc/xdg", "").merging(own) { $1 }) == .required)
    #expect(try answer(.kde, "plasmashell", globals("etc/xdg", "[$i]\n").merging(own) { $1 }) == .notRequired)
    let fixed = ["etc/xdg/kdeglobals": "[$i]\n[Other]\na=b\n"]
    #expect(try answer(.kde, "plasmashell", globals("home/kim/.config", "").merging(fixed) { $1 }) == .required)
  }

  // MARK: sway, Hyprland

  @Test(arguments: [
    ("exec waybar\n", Answer.notRequired),
    ("exec swayidle -w timeout 300 'swaylock -f'\n", .required),
    (
      "exec swayidle -w \\\n  timeout 300 'swaylock -f -c 000000' \\\n  timeout 600 'swaymsg \"output * power off\"'\n",
      .required
    ),
    ("exec swayidle -w timeout 600 'loginctl lock-session' lock 'swaylock -f'\n", .required),
    ("exec swayidle -w timeout 600 'loginctl lock-session'\n", .notRequired),
    ("exec swayidle -w timeout 600 'loginctl lock-session' lock ~/lock.sh\n", .unknown),
    ("exec swayidle -w timeout 600 'swaymsg \"output * power off\"' before-sleep 'swaylock -f'\n", .notRequired),
    ("exec swayidle -w timeout 300 'systemctl suspend' before-sleep 'swaylock -f'\n", .required),
    ("exec swayidle -w timeout 300 'systemctl suspend'\n", .notRequired),
    ("# exec swayidle -w timeout 300 'swaylock -f'\n", .notRequired),
    ("bindsym $mod+l exec swaylock\n", .notRequired),
    ("exec_always --no-startup-id \"swayidle -w timeout 300 'swaylock'\"\n", .required),
    ("exec swayidle -w timeout 300 ~/bin/lock.sh\n", .unknown),
    ("set $lock 'swaylock -f -c 000000'\nexec swayidle -w timeout 300 $lock\n", .unknown),
    ("set $lock swaylock -f\nexec swayidle -w timeout 300 '$lock'\n", .required),
    ("set $a 300\nset $ab 'swayidle -w timeout $a swaylock'\nexec $ab\n", .required),
    ("exec swayidle -w timeout 0 'swaylock -f'\n", .notRequired),
    ("exec swayidle -w timeout 300 swaylock >/dev/null 2>&1 &\n", .required),
    ("exec swayidle -w timeout 300 '$screen'\nset $screen swaylock\n", .notRequired),
    ("exec sh -c \"swayidle -w timeout 300 'swaylock -f'\"\n", .required),
    ("exec_always pkill swayidle && swayidle -w timeout 300 'swaylock -f'\n", .required),
    ("exec env A=b nohup swayidle -w timeout 300 'swaylock -f' &\n", .required),
    ("exec pkill swayidle\n", .notRequired),
    ("exec systemctl --user start mine\n", .required),
    ("exec systemctl --user stop mine.service\n", .notRequired),
    ("exec swayidle -w -C ~/idle.conf\n", .required),
    ("exec swayidle -w -C ~/none.conf\n", .notRequired),
    ("exec launcher 'swayidle -w timeout 300 swaylock'\n", .unknown),
    ("exec swayidle timeout 9 'swaymsg x'\nexec swayidle -w timeout 300 'swaylock -f'\n", .required),
    ("exec {\n waybar\n swayidle -w timeout 300 'swaylock -f'\n}\n", .required),
    ("bar {\n exec swayidle -w timeout 300 'swaylock -f'\n}\n", .notRequired),
  ])
  func `sway`(_ text: String, _ expected: Answer) throws {
    let files = [
      "home/kim/.config/sway/config": text, "home/kim/idle.conf": "timeout 300 'swaylock -f'\n",
      "usr/lib/systemd/user/mine.service": "[Service]\nExecStart=swayidle -C %h/idle.conf\n",
    ]
    #expect(try answer(.sway, "sway", files) == expected)
  }

  @Test func `sway: includes, swayidle's own file, a user's service, scripts`() throws {
    let include = [
      "etc/sway/config": "include /etc/sway/config.d/*\n",
      "etc/sway/config.d/50.conf": "exec swayidle timeout 9 swaylock\n",
    ]
    #expect(try answer(.sway, "sway", include) == .required)
    let file = [
      "etc/sway/config": "exec swayidle -w\n", "home/kim/.config/swayidle/config": "timeout 300 'swaylock -f'\n",
    ]
    #expect(try answer(.sway, "sway", file) == .required)
    let service = [
      "usr/lib/systemd/user/swayidle.service": "[Service]\nExecStart=/usr/bin/swayidle -w timeout 300 'swaylock -f'\n",
      "home/kim/.config/systemd/user/graphical-session.target.wants/swayidle.service": "x",
    ]
    #expect(try answer(.sway, "sway", service) == .required)
    let script = [
      "etc/sway/config": "exec ~/start.sh\n", "home/kim/start.sh": "#!/bin/sh\nswayidle -w timeout 300 swaylock &\n",
    ]
    #expect(try answer(.sway, "sway", script) == .unknown)
  }

  @Test(arguments: [
    ("exec-once = hypridle\n", "listener {\n timeout = 300\n on-timeout = hyprlock\n}\n", Answer.required),
    (
      "exec-once = hypridle\n",
      "general {\n lock_cmd = pidof hyprlock || hyprlock\n}\nlistener {\n timeout = 9\n on-timeout = loginctl lock-session\n}\n",
      .required
    ),
    ("exec-once = hypridle\n", "listener {\n timeout = 300\n on-timeout = brightnessctl -s set 10\n}\n", .notRequired),
    ("exec-once = waybar\n", "listener {\n timeout = 300\n on-timeout = hyprlock\n}\n", .notRequired),
    ("# exec-once = hypridle\n", "", .notRequired),
    (
      "exec-once = hypridle\n",
      "general {\n before_sleep_cmd = hyprlock\n}\nlistener {\n timeout = 5\n on-timeout = systemctl suspend\n}\n",
      .required
    ),
    (
      "exec-once = hypridle\n",
      "general {\n before_sleep_cmd = loginctl lock-session\n lock_cmd = pidof hyprlock || hyprlock\n}\n"
        + "listener {\n timeout = 5\n on-timeout = systemctl suspend\n}\n", .required
    ),
    ("exec-once = hypridle\n", "listener {\n timeout = 5\n on-timeout = systemctl suspend\n}\n", .notRequired),
    (
      "exec-once = hypridle\n", "listener {\n timeout = 5\n on-timeout = loginctl lock-session\n}\n", .notRequired
    ),
    ("exec-once = waybar & hypridle\n", "listener {\n timeout = 5\n on-timeout = hyprlock\n}\n", .required),
    ("exec-once = hypridle\n", "listener {\n timeout = 5\n on-timeout = ~/lock.sh\n}\n", .unknown),
    (
      "$idle = hypridle\nexec-once = $idle\n", "$l = hyprlock\nlistener {\n timeout = 5\n on-timeout = $l\n}\n",
      .required
    ),
  ])
  func `Hyprland`(_ config: String, _ idle: String, _ expected: Answer) throws {
    let files = ["home/kim/.config/hypr/hyprland.conf": config, "home/kim/.config/hypr/hypridle.conf": idle]
    #expect(try answer(.hyprland, "Hyprland", files) == expected)
  }

  @Test(arguments: [
    ("$configs = $HOME/.config/hypr/configs\nsource = $configs/start.conf\n", Answer.required),
    ("source = ./configs/start.conf\n", .required), ("source = configs/start.conf\n", .required),
    ("source = ~/.config/hypr/*/st?rt.conf\n", .required), ("source = ~/none.conf\n", .notRequired),
    ("$idle = hypridle\nsource = ./configs/named.conf\n", .required), ("source = ./configs/named.conf\n", .notRequired),
    ("source = $nowhere/start.conf\n", .unknown), ("exec-once = systemctl --user start hypridle\n", .required),
    ("exec-once = uwsm app -- hypridle\n", .required), ("exec-once = [silent] hypridle\n", .required),
    ("exec-once = hypridle -c ~/.config/hypr/dim.conf\n", .notRequired),
  ])
  func `Hyprland's source, and other starts`(_ config: String, _ expected: Answer) throws {
    let files = [
      "hyprland.conf": config, "configs/start.conf": "exec-once = hypridle &\n",
      "configs/named.conf": "exec-once = $idle\n",
      "hypridle.conf": "listener {\n timeout = 5\n on-timeout = hyprlock\n}\n",
      "dim.conf": "listener {\n timeout = 5\n on-timeout = hyprctl dispatch dpms off\n}\n",
    ]
    let home = Dictionary(uniqueKeysWithValues: files.map { ("home/kim/.config/hypr/\($0)", $1) })
    let service = ["usr/lib/systemd/user/hypridle.service": "[Service]\nExecStart=/usr/bin/hypridle\n"]
    #expect(try answer(.hyprland, "Hyprland", home.merging(service) { $1 }) == expected)
  }

  @Test(arguments: [
    ("", "passcode"), ("auth {\n pam {\n module = kiosk\n }\n}\n", "open"), ("auth:pam:module = none\n", "su"),
    ("auth:fingerprint:enabled = true\n", "biometric|passcode"), ("auth:pam:enabled = false\n", "unknown"),
    ("auth:pam:enabled = no\nauth:fingerprint:enabled = on\n", "biometric"),
  ])
  func `hyprlock asks as its file says`(_ text: String, _ expected: String) throws {
    let tree = try FixtureTree(Self.base)
    let files = [
      "etc/pam.d/hyprlock": "auth required pam_unix.so\n", "etc/pam.d/kiosk": "auth required pam_permit.so\n",
      "etc/pam.d/su": "auth required pam_deny.so\n", "lib/security/pam_permit.so": "", "lib/security/pam_deny.so": "",
      "var/lib/fprint/kim/driver/device/7": "", "usr/libexec/fprintd": "",
      "home/kim/.config/hypr/hyprlock.conf": text,
    ]
    for (path, text) in files { try tree.write(path, text) }
    let context = AuthContext(try System(root: tree.root))
    let opening = Locker.hyprlock.outcome(for: context.accounts["kim"], context).opening
    let words = opening.map { opening in
      if opening == .never { return "su" }
      if opening == .always { return "open" }
      return opening.sets.map { $0.factors.map(\.name).joined() }.joined(separator: "|")
    }
    #expect(words ?? "unknown" == expected)
  }

  // MARK: X

  @Test(arguments: [
    ("exec xss-lock -- i3lock\n", Answer.required), ("exec xset s off\nexec xss-lock -- i3lock\n", .notRequired),
    ("exec xss-lock -- i3lock\nexec xset -dpms s off\n", .notRequired),
    ("exec xset s 0 && xss-lock -- i3lock\n", .notRequired),
    ("exec xset s off\nexec xset s 300\nexec xss-lock -- i3lock\n", .required),
    ("exec xset s noblank\nexec xss-lock -- i3lock\n", .required),
    ("exec xset s off\nexec xautolock -locker i3lock\n", .required),
    ("exec --no-startup-id xscreensaver --no-splash\n", .required), ("exec light-locker\n", .required),
  ])
  func `i3's daemons, and the server's own saver`(_ text: String, _ expected: Answer) throws {
    let files = ["home/kim/.config/i3/config": text, "home/kim/.xscreensaver": "lock: True\n"]
    #expect(try answer(.i3, "i3", files) == expected)
    let unset = try answer(.i3, "i3", ["home/kim/.config/i3/config": "exec xscreensaver\n"])
    #expect(unset == .notRequired)
  }

  @Test func `what a user keeps from starting locks nothing`() throws {
    let shared = [
      "usr/bin/light-locker": "", "etc/xdg/autostart/light-locker.desktop": "[Desktop Entry]\nExec=light-locker\n",
    ]
    let lxde = { (files: [String: String]) in
      try answer(.lxde, "lxsession", shared.merging(files) { $1 })
    }
    let own = "home/kim/.config/autostart"
    let hidden = ["\(own)/light-locker.desktop": "[Desktop Entry]\nHidden=true\n"]
    #expect(try lxde([:]) == .required)
    #expect(try lxde(hidden) == .notRequired)
    #expect(try lxde(["\(own)/light-locker.desktop": "[Desktop Entry]\nExec=light-locker\n"]) == .required)
    let other = ["\(own)/mine.desktop": "[Desktop Entry]\nExec=sh -c \"sleep 5; light-locker\"\n"]
    #expect(try lxde(hidden.merging(other) { $1 }) == .required)
    let list = ["etc/xdg/lxsession/LXDE/autostart": "@light-locker\n"]
    #expect(try lxde(hidden.merging(list) { $1 }) == .required)
    let second = ["usr/bin/xscreensaver": "", "home/kim/.xscreensaver": "lock: True\n"]
    #expect(try lxde(hidden.merging(second) { $1 }) == .required)
  }

  @Test(arguments: [
    ("locked=\"*\" unlocked=\"root\"", Answer.notRequired), ("locked=\"*\" unlocked=\"kim\"", .required),
    ("locked=\"root;kim\"", .notRequired), ("locked=\"root\"", .required), ("", .required),
  ])
  func `Xfce: what the system locks stays`(_ lock: String, _ expected: Answer) throws {
    let channel = { (lock: String, value: Bool) in
      "<channel name=\"x\" \(lock)><property name=\"lock\" type=\"empty\"><property name=\"enabled\" value=\"\(value)\"/>"
        + "</property></channel>"
    }
    let name = "xfce4/xfconf/xfce-perchannel-xml/xfce4-screensaver.xml"
    let files = [
      "usr/bin/xfce4-screensaver": "", "etc/xdg/\(name)": channel(lock, false),
      "home/kim/.config/\(name)": channel("", true),
    ]
    #expect(try answer(.xfce, "xfce4-session", files) == expected)
  }

  @Test func `xscreensaver, Xfce, i3`() throws {
    let saver = { (text: String) in
      try answer(.lxde, "lxsession", ["usr/bin/xscreensaver": "", "home/kim/.xscreensaver": text])
    }
    #expect(try saver("timeout: 0:10:00\nlock:\t\tTrue\n") == .required)
    #expect(try saver("lock: False\n") == .notRequired)
    #expect(try saver("timeout: 0:10:00\n") == .notRequired)
    #expect(try saver("lock: True\nmode: off\n") == .notRequired)
    let xfce = { (text: String) in
      try answer(
        .xfce, "xfce4-session",
        [
          "usr/bin/xfce4-screensaver": "",
          "home/kim/.config/xfce4/xfconf/xfce-perchannel-xml/xfce4-screensaver.xml": text,
        ])
    }
    #expect(try xfce("<channel name=\"x\"></channel>") == .required)
    let off =
      "<channel><property name=\"lock\" type=\"empty\"><property name=\"enabled\" type=\"bool\" value=\"false\"/></property></channel>"
    #expect(try xfce(off) == .notRequired)
    #expect(try answer(.xfce, "xfce4-session") == .notRequired)
    let i3 = ["home/kim/.config/i3/config": "exec --no-startup-id xss-lock --transfer-sleep-lock -- i3lock --nofork\n"]
    #expect(try answer(.i3, "i3", i3) == .required)
    #expect(try answer(.i3, "i3", ["etc/i3/config": "bindsym Mod4+l exec i3lock\n"]) == .notRequired)
  }

  @Test func `a session that is not known is unknown, if its program is there`() throws {
    let session = "[Desktop Entry]\nExec=/usr/local/bin/kiosk --now\n"
    let tree = try FixtureTree(Self.base)
    try tree.write("usr/share/xsessions/kiosk.desktop", session)
    #expect(IdleDoors.look(AuthContext(try System(root: tree.root))).doors.isEmpty)
    try tree.write("usr/local/bin/kiosk", "")
    let doors = IdleDoors.look(AuthContext(try System(root: tree.root))).doors
    #expect(doors.map(\.name) == ["idle@kiosk"])
    #expect(doors.map(\.answer) == [.unknown])
  }

  @Test(
    arguments: [
      (["sway", "start-sway"], "sway", "start-sway", "sway;wlroots", ["idle@sway"]),
      (["sway", "mysway"], "sway", "mysway", "", ["idle@sway"]),
      (["Hyprland", "start-hyprland"], "hyprland", "/usr/bin/start-hyprland", "Hyprland", ["idle@hyprland"]),
      (["Hyprland", "uwsm"], "hyprland-uwsm", "uwsm start -e -D Hyprland hyprland.desktop", "", ["idle@hyprland"]),
      (["niri", "uwsm"], "niri-uwsm", "uwsm start -- niri", "", ["idle@niri-uwsm"]),
      (
        ["gnome-shell", "gnome-session"], "ubuntu", "env GNOME_SHELL_SESSION_MODE=ubuntu /usr/bin/gnome-session",
        "ubuntu:GNOME", ["idle@gnome"]
      ),
      (["gnome-shell", "gnome-session"], "gnome", "gnome-session", "", ["idle@gnome"]),
      (
        ["gnome-shell", "gnome-session"], "pantheon", "gnome-session --session=pantheon", "Pantheon",
        ["idle@gnome", "idle@pantheon"]
      ),
      (["gnome-session"], "pantheon", "gnome-session --session=pantheon", "Pantheon", ["idle@pantheon"]),
      (
        ["gnome-shell", "gnome-session"], "kiosk", "gnome-session --session gnome-kiosk", "GNOME-Kiosk;GNOME",
        ["idle@gnome", "idle@kiosk"]
      ),
      (
        ["startplasma-wayland"], "plasma",
        "/usr/libexec/plasma-dbus-run-session-if-needed /usr/bin/startplasma-wayland", "KDE", ["idle@kde"]
      ),
      (["cinnamon", "launcher"], "cinnamon2d", "launcher", "X-Cinnamon", ["idle@cinnamon"]),
      // The program counts, wherever env is.
      (["other"], "other", "env A=b dbus-run-session -- /usr/bin/other", "Other", ["idle@other"]),
      (["env"], "other", "env A=b /usr/bin/other", "Other", []),
    ] as [([String], String, String, String, [String])])
  func `a session is a desktop's by what it starts in the end, or by its name`(
    programs: [String], name: String, command: String, desktops: String, doors: [String]
  ) throws {
    let tree = try FixtureTree(Self.base)
    for program in programs { try tree.write("usr/bin/\(program)", "") }
    let file = "[Desktop Entry]\nExec=\(command)\n" + (desktops.isEmpty ? "" : "DesktopNames=\(desktops)\n")
    for folder in ["wayland-sessions", "xsessions"] {
      try tree.write("usr/share/\(folder)/\(name).desktop", file)
    }
    #expect(IdleDoors.look(AuthContext(try System(root: tree.root))).doors.map(\.name) == doors)
  }

  @Test func `sessions of GNOME's own shell alone say what GNOME's settings are called`() throws {
    let tree = try FixtureTree(Self.base)
    let session = { (name: String, command: String, desktops: String) in
      try tree.write(
        "usr/share/xsessions/\(name).desktop", "[Desktop Entry]\nExec=\(command)\nDesktopNames=\(desktops)\n")
    }
    try session("pantheon", "gnome-session --session=pantheon", "Pantheon")
    #expect(Desktop.gnome.names(try System(root: tree.root)) == ["GNOME"])
    try session("ubuntu", "env GNOME_SHELL_SESSION_MODE=ubuntu gnome-session --session=ubuntu", "ubuntu:GNOME")
    #expect(Desktop.gnome.names(try System(root: tree.root)) == ["ubuntu", "GNOME"])
  }

  @Test func `lockers count where a desktop uses them`() throws {
    let lockers = { (programs: [String]) in
      let tree = try FixtureTree(Dictionary(uniqueKeysWithValues: programs.map { ("usr/bin/\($0)", "") }))
      return UnlockDoors.lockers(AuthContext(try System(root: tree.root)))
    }
    #expect(try lockers(["swaylock"]).isEmpty)
    #expect(try lockers(["sway", "swaylock", "i3lock"]) == [.swaylock])
    #expect(try lockers(["gnome-shell"]) == [.gnome])
    #expect(try lockers(["budgie-panel", "budgie-screensaver", "gnome-shell"]) == [.gnome, .budgieScreensaver])
    #expect(try lockers(["vlock"]) == [.vlock])
    #expect(try lockers(["i3", "i3lock", "xscreensaver"]) == [.xscreensaver, .i3lock])
  }
}
