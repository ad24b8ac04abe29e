import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureProbes

/// Inputs that are made to cost something: they cost nothing.
@Suite(.serialized) struct HostileInputTests {
  private static let files = [
    "etc/inittab", "etc/systemd/system/getty@.service", "etc/systemd/system/getty@tty1.service.d/a.conf",
    "etc/lightdm/lightdm.conf", "etc/gdm3/custom.conf", "etc/gdm/custom.conf", "etc/sddm.conf",
    "etc/greetd/config.toml",
    "etc/lxdm/lxdm.conf", "boot/grub/grub.cfg", "boot/loader/loader.conf", "boot/extlinux/extlinux.conf",
    "etc/dconf/profile/user", "etc/credstore/login.noauth", "etc/X11/default-display-manager", "proc/cmdline",
    "home/kim/.config/dconf/user", "home/kim/.config/kscreenlockerrc", "home/kim/.config/sway/config",
    "home/kim/.config/hypr/hyprland.conf", "home/kim/.config/hypr/hypridle.conf", "home/kim/.xscreensaver",
    "home/kim/.config/xfce4/xfconf/xfce-perchannel-xml/xfce4-screensaver.xml",
  ]

  private func tree() throws -> FixtureTree {
    let tree = try FixtureTree([
      "etc/passwd": "kim:x:1000:1000::/home/kim:/bin/sh\n", "etc/shadow": "kim:*:1::::::\n",
      "usr/lib/systemd/system/getty@.service":
        "[Service]\nExecStart=-/sbin/agetty %I\nImportCredential=login.*\n",
    ])
    for name in [
      "gnome-shell", "plasmashell", "sway", "Hyprland", "xfce4-session", "xfce4-screensaver", "lxsession",
      "xscreensaver",
    ] {
      try tree.write("usr/bin/\(name)", "")
    }
    for name in ["lightdm", "gdm", "sddm", "greetd", "lxdm"] {
      try tree.write("usr/lib/systemd/system/\(name).service", "[Service]\nExecStart=/usr/bin/\(name)\n")
    }
    return tree
  }

  private func look(_ tree: FixtureTree) throws -> ProbeResult {
    let context = AuthContext(try System(root: tree.root))
    var result = ProbeResult()
    for part in [ConsoleDoors.look, GraphicalDoors.look, BootDoors.look, UnlockDoors.look, IdleDoors.look] {
      result.add(part(context))
    }
    return result
  }

  private func quickly(_ what: String, _ body: () throws -> Void) rethrows {
    // Of this thread alone: others use the processor too.
    #expect(try milliseconds(body) < 2_000, "\(what)")
  }

  private func milliseconds(_ body: () throws -> Void) rethrows -> Int {
    let start = Self.threadMilliseconds
    try body()
    return Self.threadMilliseconds - start
  }

  private static var threadMilliseconds: Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
  }

  @Test func `FIFOs, directories, giants and loops in place of files`() throws {
    for kind in ["fifo", "folder", "giant", "loop", "zero"] {
      let tree = try tree()
      for file in Self.files {
        switch kind {
        case "fifo": tree.makeFIFO(file)
        case "folder": tree.makeFolder(file)
        case "giant": try tree.makeSparse(file, size: 10 << 30)
        case "loop": tree.link(file, to: "/\(file)")
        default: tree.link(file, to: "/dev/zero")
        }
      }
      try quickly(kind) { _ = try look(tree) }
    }
  }

  /// Two thousand units that are links to each other take a second or several, by the machine: what counts is that four
  /// times as many take about four times as long, and not sixteen times.
  @Test func `a farm of links and includes that include themselves`() throws {
    let (few, many) = (try farm(of: 500), try farm(of: 2_000))
    let (short, long) = (try milliseconds { _ = try look(few) }, try milliseconds { _ = try look(many) })
    #expect(long < 8 * short, "\(short) ms, then \(long) ms")
  }

  private func farm(of links: Int) throws -> FixtureTree {
    let tree = try tree()
    for index in 0..<links { tree.link("etc/systemd/system/a\(index).service", to: "a\(index + 1).service") }
    try tree.write("home/kim/.config/sway/config", String(repeating: "include ~/.config/sway/*\n", count: 50))
    try tree.write(
      "home/kim/.config/hypr/hyprland.conf", String(repeating: "source = ~/.config/hypr/hyprland.conf\n", count: 10))
    try tree.write("boot/grub/grub.cfg", String(repeating: "source $prefix/grub.cfg\n", count: 4))
    return tree
  }

  /// Pieces that the grammars care about, in any order.
  private static let pieces = [
    "[", "]", "=", "\n", "\\", "\"", "'", "$", "${", "}", "{", "$(", ")", "%I", "%", "#", ";", ":", "\u{0}", "é", " ",
    "\t",
    "ExecStart=", "[Service]", "exec ", "getty", "-f", "root", "timeout 5 ", "<property name=\"", "/>", "listener {",
    "set ",
    "superusers=", "password a b", "source ", "a:b:respawn:", "GVariant", "\\x2d", "@", "Seat:*", "respawn",
  ]

  @Test func `generated texts end every parser quickly`() throws {
    let seed = UInt64.random(in: .min ... .max)
    print("HostileInputTests seed \(seed)")
    var generator = SplitMix(seed)
    let start = Self.threadMilliseconds
    var longest: (milliseconds: Int, text: String) = (0, "")
    for _ in 0..<3_000 {
      let count = Int.random(in: 0..<60, using: &generator)
      let text = (0..<count).map { _ in Self.pieces.randomElement(using: &generator)! }.joined()
      let before = Self.threadMilliseconds
      Self.parse(text)
      if Self.threadMilliseconds - before > longest.milliseconds {
        longest = (Self.threadMilliseconds - before, text)
      }
    }
    #expect(longest.milliseconds < 100, "seed \(seed): \(longest.text)")
    #expect(Self.threadMilliseconds - start < 20_000, "seed \(seed)")
  }

  @Test func `long texts cost no more than their length`() {
    for piece in Self.pieces {
      let text = String(repeating: piece, count: 16_000 / max(1, piece.utf8.count))
      quickly("16 kB of \(piece)") { Self.parse(text) }
    }
  }

  private static func parse(_ text: String) {
    let place = "/x"
    let unit = Unit(
      name: UnitName("getty@tty1.service")!, fragment: place, isMasked: false,
      settings: UnitFile.parse("[Service]\n" + text, path: place))
    _ = unit.commands(environment: unit.environment { _ in text })
    _ = UnitWords.split(text)
    _ = UnitName(text).map { ($0.shortened, $0.template) }
    _ = UnitName.unescape(text)
    let script = ShellScript(text, ["a", "b"])
    for command in script.commands.prefix(50) {
      _ = GettyOptions(command.words).loginArguments
      _ = LoginOptions(command.words)
    }
    _ = InittabEntry.parse(text)
    _ = InittabEntry.busybox(text)
    _ = try? GLibKeyFile(text)
    _ = SDDM.parse(text, path: place)
    _ = TOMLTable(text)["a", "b"]
    _ = GrubUsers(text, path: place) { _ in (text, place) }
    _ = Extlinux.Options(text, place).door
    _ = GrubMenu(text, path: place, environment: text).menu.start
    _ = BootMenu(extlinux: text, path: place).start
    var config = KConfig(group: "Daemon")
    config.read(text, path: place)
    _ = Swayidle(file: text).lock
    _ = SimpleCommands.of(text)
    _ = try? HyprConfig((text, place), nil).blocks("listener")
    _ = XfconfChannel.values(text)
    _ = GVDB(Array(text.utf8))?.value("/a")
    _ = GVDB(GVDBWriter().bytes)?.override(("(u(ya{sv}))", Array(text.utf8)), of: "GNOME")
  }
}
