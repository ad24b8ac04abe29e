import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureProbes

/// Owners control their home: whatever they put in place of a file there costs nothing, and tells nobody what only root may
/// read.
@Suite(.serialized) struct HostileHomeTests {
  /// Every file of a home that the probes look at.
  private static let files = [
    ".ssh/authorized_keys", ".ssh/authorized_keys2", ".ssh/id_ed25519", ".ssh/id_rsa", ".google_authenticator",
    ".config/Yubico/u2f_keys", ".config/dconf/user", ".config/kscreenlockerrc", ".config/sway/config",
    ".config/i3/config",
    ".config/hypr/hyprland.conf", ".config/hypr/hypridle.conf", ".config/hypr/hyprlock.conf", ".xscreensaver",
    ".config/swayidle/config", ".config/systemd/user/swayidle.service", ".config/kwalletrc",
    ".config/xfce4/xfconf/xfce-perchannel-xml/xfce4-screensaver.xml", ".config/keepassxc/keepassxc.ini",
    ".local/share/keyrings/default", ".local/share/keyrings/login.keyring", ".local/share/keyrings/user.keystore",
    ".local/share/kwalletd/kdewallet.kwl", ".local/share/kwalletd/kdewallet.salt",
  ]

  private static let secret = "TheHashThatOnlyRootMayRead"

  private func tree() throws -> FixtureTree {
    let tree = try FixtureTree([
      "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nkim:x:1000:1000::/home/kim:/bin/sh\n",
      "/etc/group": "kim:x:1000:\n",
      "/etc/pam.d/login":
        "auth sufficient pam_u2f.so\nauth sufficient pam_google_authenticator.so\nauth required pam_unix.so\n",
      "/etc/pam.d/other": "auth required pam_deny.so\naccount required pam_permit.so\n",
      "/usr/lib/systemd/system/getty@.service": "[Service]\nExecStart=-/sbin/agetty %I\n", "/etc/ssh/sshd_config": "",
      "/usr/share/dbus-1/services/org.freedesktop.secrets.service":
        "[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/usr/bin/gnome-keyring-daemon\n",
    ])
    try tree.write("/etc/shadow", "root:$6$\(Self.secret):19700::::::\nkim:*:19700::::::\n", mode: 0o600)
    for name in [
      "gnome-shell", "plasmashell", "sway", "i3", "Hyprland", "hypridle", "swayidle", "xfce4-session",
      "xfce4-screensaver",
      "lxsession", "xscreensaver", "gnome-keyring-daemon", "kwalletd5", "keepassxc",
    ] { try tree.write("/usr/bin/\(name)", "") }
    try tree.write("/usr/sbin/sshd", "")
    return tree
  }

  private enum Kind: String, CaseIterable { case fifo, device, sparse, zero, shadow, folder, loop, socket }

  private func put(_ kind: Kind, _ file: String, _ tree: FixtureTree) throws {
    switch kind {
    case .fifo: tree.makeFIFO(file)
    case .device:
      tree.makeFolder(Path.folder(of: file))
      mknod(tree.place(file), S_IFCHR | 0o666, 5 << 8)
    case .sparse: try tree.makeSparse(file, size: 10 << 30)
    case .zero: tree.link(file, to: "/dev/zero")
    case .shadow: tree.link(file, to: "/etc/shadow")
    case .folder: tree.makeFolder(file)
    case .loop: tree.link(file, to: "/\(file)")
    case .socket:
      tree.makeFolder(Path.folder(of: file))
      mknod(tree.place(file), S_IFSOCK | 0o666, 0)
    }
  }

  @Test(arguments: Kind.allCases)
  private func `whatever stands in place of a file`(kind: Kind) throws {
    let tree = try tree()
    for file in Self.files { try put(kind, "home/kim/\(file)", tree) }
    let start = Clock.monotonicMilliseconds
    let system = try System(root: tree.root)
    var facts = AuthPolicyProbe().run(on: system)
    facts.add(KeyringProbe().run(on: system))
    let text = Judge.evidence(of: facts, under: .entry).json.text
    #expect(Clock.monotonicMilliseconds - start < 3_000, "\(kind)")
    #expect(!text.contains(Self.secret), "\(kind)")
  }
}
