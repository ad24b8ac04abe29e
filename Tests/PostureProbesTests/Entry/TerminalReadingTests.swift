import TestKit
import Testing

@testable import PostureProbes

/// Command lines of terminals, scripts among them.
struct TerminalReadingTests {
  private static let autologin = TerminalReading.login(
    LoginCall(user: .only("pi"), skipsAuthentication: true))

  private func read(_ command: String, _ files: [String: String] = [:], asks: Bool = false) throws -> TerminalReading {
    let tree = try FixtureTree(files)
    return TerminalReader(system: try System(root: tree.root), asksOnTerminals: asks).read(UnitWords.split(command))
  }

  @Test(arguments: [
    "/sbin/agetty -o '-p -- \\\\u' --noclear - linux", "/sbin/getty 38400 tty1", "/bin/login", "/sbin/mingetty tty1",
    "/usr/bin/setsid -w /sbin/getty -L 115200 ttyS0", "/bin/busybox getty 38400 tty1", "/sbin/agetty -n tty1",
    "/usr/bin/kmscon --vt=tty1 --login -- /sbin/agetty -o '-p -- \\\\u' - linux",
  ])
  func `ordinary logins`(_ command: String) throws { #expect(try read(command) == .stock) }

  @Test(arguments: [
    "/sbin/agetty --autologin pi tty1", "/bin/login -f pi", "/sbin/mingetty --autologin pi tty1",
    "/sbin/mingetty --autologin=pi tty1", "nice -n 5 /sbin/agetty -a pi tty1",
    "/sbin/agetty --login-options='-p -f -- \\\\u' -a pi tty1", "/sbin/agetty -o'-p -f \\\\u' -a pi tty1",
  ])
  func `automatic logins`(_ command: String) throws { #expect(try read(command) == Self.autologin) }

  @Test(arguments: [
    "/bin/sh", "-/bin/ash", "/bin/ash --login", "/bin/bash -i", "/sbin/getty -n -l /bin/sh console",
    "/bin/cttyhack /bin/sh",
    "/sbin/agetty -n -l /bin/bash tty1", "/sbin/sushell", "-/bin/hush", "/bin/rbash", "/usr/bin/tmux new -A",
    "/usr/bin/sudo -i",
  ])
  func `shells of root's`(_ command: String) throws { #expect(try read(command) == .rootShell) }

  @Test func `OpenWrt's own script is known where a tree does not hold it`() throws {
    #expect(try read("/usr/libexec/login.sh", asks: true) == .stock)
    let open = TerminalReading.login(LoginCall(user: .only("root"), skipsAuthentication: true))
    #expect(try read("/usr/libexec/login.sh") == open)
    #expect(try read("/usr/libexec/login.sh", ["/usr/libexec/login.sh": "#!/bin/sh\nexec /bin/login\n"]) == .stock)
  }

  @Test func `a preset name, everybody, sulogin`() throws {
    #expect(try read("/sbin/agetty -o '-p -- \\\\u' -a kid tty3") == .login(LoginCall(user: .preset("kid"))))
    #expect(try read("/sbin/agetty -o '-f \\\\u' tty3") == .login(LoginCall(skipsAuthentication: true)))
    for options in ["-e", "-pe", "--forc", "-pe -t 60"] {
      #expect(try read("/sbin/sulogin \(options)") == .sulogin(isForced: true))
    }
    for options in ["", "-p", "-t e", "-te"] {
      #expect(try read("/sbin/sulogin \(options)") == .sulogin(isForced: false))
    }
    #expect(
      try read("/bin/su - pi") == .login(LoginCall(user: .only("pi"), skipsAuthentication: true, program: "/bin/su")))
  }

  @Test func `another login program is not modelled`() throws {
    guard case .unknown = try read("/sbin/agetty -l /usr/bin/nologin-kiosk tty1") else {
      Issue.record("an unknown login program was taken for a known one")
      return
    }
  }

  @Test func `scripts end in what they exec`() throws {
    let simple = "#!/bin/sh\n# Start it.\nexec /sbin/getty -L $1 $2 $3\n"
    #expect(try read("/bin/start_getty 115200 ttyS0 vt102", ["bin/start_getty": simple]) == .stock)
    let yocto = """
      #!/bin/sh
      getty="/sbin/getty"
      case $(readlink -f "${getty}") in
          */busybox*) ;;
          *)
              if [ -x "/usr/bin/setsid" ] ; then
                  setsid="/usr/bin/setsid"
              fi
              options="--autologin pi --local-line"
              ;;
      esac
      if [ -e /proc/consoles ]; then
        if grep -q "$2" /proc/consoles; then
          ${setsid:-} ${getty} $options -L $1 $2 $3
        fi
      fi
      """
    #expect(try read("/bin/start_getty 115200 ttyS0 vt102", ["bin/start_getty": yocto]) == Self.autologin)
    let arguments = "#!/bin/bash\nexec /sbin/agetty \"$@\"\n"
    #expect(try read("/usr/local/bin/g -a pi tty1", ["usr/local/bin/g": arguments]) == Self.autologin)
    #expect(try read("/sbin/agetty -l /x tty1", ["x": "#!/bin/sh\nexec /bin/login -f pi\n"]) == Self.autologin)
    let function = "#!/bin/ash\nshell() { exec /bin/ash -l; }\ntrap shell INT\nwait-for-it\nrun_it\n"
    #expect(try read("/usr/sbin/cli", ["usr/sbin/cli": function]) == .rootShell)
  }

  @Test func `a script with two ways is not judged, OpenWrt's is`() throws {
    let script =
      "#!/bin/sh\n[ \"$(uci -q get system.@system[0].ttylogin)\" = 1 ] || exec /bin/login -f pi\n\nexec /bin/login\n"
    #expect(try read("/usr/libexec/login.sh", ["usr/libexec/login.sh": script], asks: true) == .stock)
    #expect(try read("/usr/libexec/login.sh", ["usr/libexec/login.sh": script]) == Self.autologin)
    let old = script.substituting("exec /bin/login -f pi", with: "exec /bin/ash --login")
    #expect(try read("/usr/libexec/login.sh", ["usr/libexec/login.sh": old]) == .rootShell)
    guard case .undecided = try read("/s", ["s": script.substituting("ttylogin", with: "else")]) else {
      Issue.record("one of two ways was chosen")
      return
    }
  }

  @Test(arguments: [
    "exec login -f \"$(cat /etc/who)\"", "exec login -f `cat /etc/who`", "exec login -f $(cat /etc/who 2>/dev/null)",
    "exec login -f \"$(< /etc/who)\"", "U=ann\n[ -f /etc/who ] && U=$(cat /etc/who)\nexec login -f $U",
    "exec login -f ${U:-pi}", "exec $(which setsid) login -f pi",
  ])
  func `a name that is a file's text`(script: String) throws {
    let login = TerminalReading.login(LoginCall(user: .only("pi"), skipsAuthentication: true, program: "login"))
    #expect(try read("/s", ["s": "#!/bin/sh\n\(script)\n", "etc/who": "pi\n"]) == login)
  }

  @Test(arguments: [
    "exec login -f \"$(cat /etc/other)\"", "exec login -f `id -nu 1000`", "exec login -f $U", "exec login -f \"$U\"",
    "exec agetty --autologin $(cat /home/pi/who) tty1", "exec su -l $(id -nu 1000)",
    "exec agetty --autologin $(uci get x)\u{301} tty1", "exec su -l $U -c startx", "exec sudo -u $U startx",
  ])
  func `nobody's name is made of what the files do not tell`(script: String) throws {
    guard case .undecided = try read("/s", ["s": "#!/bin/sh\n\(script)\n", "home/pi/who": "pi\n"]) else {
      Issue.record("\(script) was read")
      return
    }
  }

  @Test(arguments: [
    ("/usr/bin/sudo -u pi startx -- :0", "pi"), ("/usr/bin/sudo -EHu pi /usr/bin/env startx", "pi"),
    ("/bin/bash -c 'startx /usr/bin/chromium'", "root"), ("/usr/bin/dbus-run-session cage -- chromium", "root"),
    ("/bin/sh -c 'sudo --user=pi startx'", "pi"), ("/usr/bin/snap run ubuntu-frame.daemon", "root"),
  ])
  func `a session under programs that run another`(command: String, user: String) throws {
    #expect(try read(command) == .session(of: user))
  }

  @Test func `a script that calls itself ends`() throws {
    let reading = try read("/s tty1", ["s": "#!/bin/sh\nexec /s-getty\n", "s-getty": "#!/bin/sh\nexec /s-getty\n"])
    guard case .unknown = reading else {
      Issue.record("a ring of scripts came to \(reading)")
      return
    }
  }
}
