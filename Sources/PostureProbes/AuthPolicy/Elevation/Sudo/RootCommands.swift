/// The closed list of programs that make whoever may run them as root become root.
///
/// A program with a fixed set of arguments does only what these say; one of the second list is root whatever they are.
enum RootCommands {
  /// Programs that run other programs, or write or replace any file, by their arguments: root where the caller chooses
  /// the arguments.
  private static let byArguments: Set = [
    // Interpreters and build tools run what they are given.
    "python", "perl", "ruby", "node", "nodejs", "lua", "php", "tclsh", "expect", "awk", "gawk", "mawk", "gdb", "make",
    "cmake", "gcc", "jshell", "ghc", "irb", "busybox", "java", "jjs", "julia", "octave", "R", "guile", "emacs",
    // Programs whose business is to run another one.
    "env", "nice", "ionice", "nohup", "timeout", "time", "watch", "xargs", "find", "setsid", "stdbuf", "taskset",
    "unshare", "nsenter", "chroot", "script", "strace", "ltrace", "flock", "parallel", "runuser", "setpriv", "capsh",
    "start-stop-daemon", "systemd-run", "systemd-nspawn", "machinectl", "run-parts", "ld.so", "logsave", "sg", "newgrp",
    "chrt", "prlimit", "sshpass", "dbus-run-session", "at", "batch", "crontab", "screen", "tmux", "dtach", "watchexec",
    // Writing or replacing files anywhere.
    "tee", "cp", "mv", "dd", "install", "ln", "rsync", "tar", "cpio", "unzip", "zip", "7z", "ar", "sed", "ed", "patch",
    "split", "truncate", "wget", "curl", "scp", "sftp", "ftp", "tftp", "socat", "nc", "ncat", "openssl", "sort", "git",
    "debugfs", "rev", "shuf", "uniq", "xxd", "base64",
    // Owners, modes, attributes, mounts.
    "chown", "chmod", "chgrp", "setfacl", "setcap", "chattr", "mount", "umount", "losetup", "fusermount", "mkfs",
    // Accounts.
    "passwd", "chpasswd", "usermod", "useradd", "adduser", "addgroup", "groupadd", "groupmod", "gpasswd", "chsh",
    "chfn", "newusers", "deluser", "userdel", "vigr", "visudo", "pwconv", "update-alternatives",
    // Package managers run scripts of packages.
    "apt", "apt-get", "aptitude", "dpkg", "rpm", "yum", "dnf", "microdnf", "zypper", "pacman", "yay", "apk", "opkg",
    "emerge", "snap", "flatpak", "pip", "npm", "gem", "nix", "nix-env", "nixos-rebuild", "brew", "cargo", "go", "rauc",
    "swupdate", "mender", "fwupdmgr", "cpan", "easy_install", "composer",
    // Services, kernel, machines.
    "systemctl", "service", "rc-service", "initctl", "insmod", "modprobe", "kexec", "sysctl", "ldconfig", "docker",
    "podman", "nerdctl", "ctr", "crictl", "kubectl", "lxc", "lxd", "incus", "virsh", "qemu-system-x86_64", "ansible",
    "ansible-playbook", "puppet", "salt-call", "chef-client", "terraform", "tcpdump", "nmap", "wireshark", "dumpcap",
    "ip", "iptables-save", "mysql", "psql", "sqlite3", "ssh", "ssh-keygen", "pkexec", "udevadm", "busctl",
    "dmsetup", "cryptsetup", "ebtables", "logrotate", "dhclient",
  ]

  /// Shells, editors and pagers give a shell from within, and `su` is one, whatever their arguments.
  private static let always: Set = [
    "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash", "su", "sudo", "doas", "login",
    "vi", "vim", "nvim", "view", "vimdiff", "rvim", "ex", "nano", "pico", "rnano", "emacs", "emacsclient", "joe",
    "mcedit",
    "mc", "less", "more", "most", "man", "ed", "red", "vigr", "vipw", "visudo", "ftp", "micro", "ne", "jed",
    "sudoedit",
  ]

  /// The word that makes a program open an editor, which gives a shell from within.
  private static let editing: [String: Substring] = [
    "crontab": "-e", "systemctl": "edit", "networkctl": "edit", "machinectl": "edit", "virsh": "edit",
    "kubectl": "edit",
  ]

  /// Interpreters and shells run the file that their arguments name.
  private static let interpreters: Set = [
    "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash", "python", "perl", "ruby",
    "node", "nodejs", "lua", "php", "tclsh", "expect", "gdb", "make", "java", "julia", "octave", "guile", "crontab",
    "ansible-playbook",
  ]

  /// They run the command that is named behind their options.
  private static let runners: Set = [
    "env", "nice", "ionice", "nohup", "timeout", "time", "setsid", "stdbuf", "taskset", "chrt", "prlimit",
    "dbus-run-session", "busybox",
  ]

  /// Files that decide who may do what: editing one of them is root.
  private static let decisiveFiles = [
    "/etc/sudoers", "/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/pam.d/", "/etc/doas",
    "/etc/polkit-1/", "/etc/ssh/sshd_config", "/etc/systemd/", "/etc/cron", "/root/", "/etc/ld.so.preload",
    "/etc/profile", "/etc/init.d/", "/etc/rc.local",
  ]

  /// Whether running `command` (a path with its arguments, as sudoers writes it) as root amounts to being root.
  static func amountsToRoot(_ command: String) -> Bool {
    let words = command.split(separator: " ", maxSplits: 1)
    guard let path = words.first else { return false }
    let arguments = words.count > 1 ? String(words[1]) : nil
    if path == "sudoedit" { return arguments.map(isDecisive) ?? true }
    if path == "list" { return false }
    // A whole directory, a pattern that can match a shell, or an expression that cannot be judged.
    if path.ends(with: "/") || path.hasPrefix("^") { return true }
    let name = baseName(path)
    if name.contains("*") || name.contains("?") || name.contains("[") { return holdsWildcardShell(path, name) }
    if let editing = editing[name], arguments?.split(separator: " ").contains(editing) == true { return true }
    if always.contains(name) { return !isScript(name, arguments) }
    return byArguments.contains(name) && isFree(arguments)
  }

  /// What a program runs whose business is to run another one; nil for any other, and where the caller chooses it.
  static func inner(of command: String) -> String? {
    var words = command.split(separator: " ")[...]
    guard let path = words.popFirst(), runners.contains(baseName(path)) else { return nil }
    var isAfterOption = false
    while let word = words.first {
      let isName = !word.hasPrefix("-") && !word.contains("=") && word.first?.isNumber == false
      if word.hasPrefix("/") || isName && !isAfterOption { break }
      isAfterOption = word.hasPrefix("-")
      words.removeFirst()
    }
    guard let first = words.first, first.first?.isLetter == true || first.hasPrefix("/") else { return nil }
    return (first.hasPrefix("/") ? "" : "/usr/bin/") + words.joined(separator: " ")
  }

  /// The absolute paths among the arguments of an interpreter; none for any other program.
  static func interpretedPaths(of command: String) -> [String] {
    var words = command.split(separator: " ")[...]
    guard let path = words.popFirst(), interpreters.contains(baseName(path)) else { return [] }
    return words.compactMap { word in
      let word = word.drop { $0 == "\"" || $0 == "'" }
      // An option may hold its value: -I/opt/lib, --file=/opt/x.
      guard word.hasPrefix("/") || word.hasPrefix("-"), let slash = word.firstIndex(of: "/") else { return nil }
      return String(word[slash...].prefix { !"\"';*".contains($0) })
    }
  }

  /// `python3.11` is `python`.
  private static func baseName(_ path: Substring) -> String {
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    guard !always.contains(name), !byArguments.contains(name) else { return name }
    let plain = name.prefix { !$0.isNumber }
    return plain.ends(with: "-") ? String(plain.dropLast()) : String(plain)
  }

  private static func holdsWildcardShell(_ path: Substring, _ name: String) -> Bool {
    let pattern = ShellPattern(name)
    return always.contains { pattern.matches($0) } || byArguments.contains { pattern.matches($0) }
  }

  /// No arguments at all in a rule stand for any; a wildcard lets the caller add some; `""` stands for none.
  private static func isFree(_ arguments: String?) -> Bool {
    guard let arguments else { return true }
    return arguments != "\"\"" && (arguments.contains("*") || arguments.hasPrefix("^"))
  }

  /// A shell that is given a script or a command line does that and ends.
  private static func isScript(_ name: String, _ arguments: String?) -> Bool {
    guard let arguments, arguments != "\"\"", !isFree(arguments), name.ends(with: "sh") else {
      return name == "su" && arguments.map(isOtherUser) ?? false
    }
    return !arguments.hasPrefix("-i") && arguments != "-" && arguments != "-l"
  }

  /// `su - postgres`: another user's shell, not root's.
  private static func isOtherUser(_ arguments: String) -> Bool {
    let names = arguments.split(separator: " ").filter { !$0.hasPrefix("-") }
    return !isFree(arguments) && names.first.map { $0 != "root" && !$0.contains("*") } ?? false
  }

  private static func isDecisive(_ file: String) -> Bool {
    file.contains("*") || decisiveFiles.contains { file.hasPrefix($0) }
  }
}
