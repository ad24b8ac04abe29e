import Glibc
import PosturePlatform

/// A small machine: one owner with a password, root locked, a console, sudo, polkit, a keyring and a key for ssh.
public enum SmallMachine {
  /// A real yescrypt hash of no password that anybody uses.
  public static let hash = "$y$j9T$0123456789abcdef$PostureTestsHashThatMustNotLeak0123456789ab"
  public static let shadow = "root:*:19000:0:99999:7:::\nalice:\(hash):19000:0:99999:7:::\n"
  public static let openShadow = "root:*:19000:0:99999:7:::\nalice::19000:0:99999:7:::\n"

  public static func make() throws -> FixtureTree {
    let tree = try FixtureTree([
      "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/bash\n",
      "/etc/group": "root:x:0:\nsudo:x:27:alice\nalice:x:1000:\n",
      "/etc/nsswitch.conf": "passwd: files\nshadow: files\ngroup: files\n",
      "/etc/login.defs": "UID_MIN 1000\nUID_MAX 60000\n",
      "/etc/pam.d/login": "auth required pam_unix.so nullok\naccount required pam_unix.so\n",
      "/etc/pam.d/sudo": "auth required pam_unix.so\naccount required pam_unix.so\n",
      "/etc/pam.d/sshd": "auth required pam_unix.so\naccount required pam_unix.so\n",
      "/etc/pam.d/other": "auth required pam_deny.so\naccount required pam_deny.so\n",
      "/etc/sudoers": "root ALL=(ALL:ALL) ALL\n%sudo ALL=(ALL:ALL) ALL\n@includedir /etc/sudoers.d\n",
      "/etc/sudoers.d/README": "# nothing\n",
      "/etc/polkit-1/rules.d/10-first.rules": "// nothing\n",
      "/etc/ssh/sshd_config": "PasswordAuthentication no\n",
      "/usr/sbin/sshd": "", "/usr/bin/sudo": "", "/bin/bash": "", "/bin/login": "", "/sbin/agetty": "",
      "/usr/lib/polkit-1/polkitd": "",
      "/lib/systemd/system/ssh.service":
        "[Service]\nExecStart=/usr/sbin/sshd -D\n[Install]\nWantedBy=multi-user.target\n",
      "/home/alice/.ssh/authorized_keys": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAA alice\n",
      "/home/alice/.local/share/keyrings/login.keyring": "GnomeKeyring\n\r\0\n",
      "/home/alice/.local/share/keyrings/default": "login\n",
    ])
    tree.link("/etc/systemd/system/multi-user.target.wants/ssh.service", to: "/lib/systemd/system/ssh.service")
    try tree.write("/etc/shadow", shadow, mode: 0o600)
    for path in ["/etc/sudoers", "/etc/sudoers.d/README"] { chmod(tree.place(path), 0o440) }
    if geteuid() == 0 {
      for path in [
        "", ".ssh", ".ssh/authorized_keys", ".local", ".local/share", ".local/share/keyrings",
        ".local/share/keyrings/login.keyring", ".local/share/keyrings/default",
      ] { chown(tree.place("/home/alice/\(path)"), 1000, 1000) }
      chmod(tree.place("/home/alice"), 0o700)
    }
    return tree
  }
}
