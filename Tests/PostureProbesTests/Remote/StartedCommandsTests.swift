import Posture
import TestKit
import Testing

@testable import PostureProbes

struct StartedCommandsTests {
  private static let people = [
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\npi:x:1000:1000::/home/pi:/bin/sh\n",
    "/etc/shadow": "root:\(PeopleTree.hash):1::::::\npi:\(PeopleTree.hash):1::::::\n", "/etc/group": "root:x:0:\n",
  ]

  private func look(
    _ files: [String: String], links: [String: String] = [:], executable: [String] = []
  ) throws -> ProbeResult {
    let tree = try FixtureTree(Self.people)
    for (path, text) in files { try tree.write(path, text, mode: executable.contains(path) ? 0o755 : 0o644) }
    for (path, target) in links { tree.link(path, to: target) }
    return AuthPolicyProbe().run(on: try System(root: tree.root))
  }

  private func answer(_ result: ProbeResult, _ door: String, _ subject: String = "*") -> Answer? {
    result.doors.first { $0.name == door && $0.subject == subject }?.answer
  }

  // MARK: systemd

  private static let units = "/usr/lib/systemd/system"
  private static let wants = "/etc/systemd/system/multi-user.target.wants"

  /// A service of a vendor's package that multi-user.target wants.
  private func service(_ text: String, _ more: [String: String] = [:]) throws -> ProbeResult {
    let files = ["\(Self.units)/multi-user.target": "[Unit]\n", "\(Self.units)/own.service": "[Service]\n\(text)\n"]
    return try look(
      files.merging(more) { $1 }, links: ["\(Self.wants)/own.service": "\(Self.units)/own.service"])
  }

  @Test(arguments: [
    ("ExecStart=/usr/bin/ttyd -p 7681 bash", "ttyd", Answer.unknown),
    ("ExecStart=/usr/bin/app\nExecStartPost=/bin/sh -c \"ttyd bash &\"", "ttyd", .unknown),
    ("ExecStart=/usr/bin/sudo -u pi /usr/bin/x11vnc -forever", "vnc", .unknown),
    ("ExecStart=/usr/sbin/telnetd -F", "telnet", .unknown),
    ("ExecStart=/usr/sbin/telnetd -F -l /bin/sh", "telnet", .notRequired),
    ("ExecStart=/usr/bin/socat TCP-LISTEN:23,fork EXEC:/bin/bash,pty", "socat", .notRequired),
    ("ExecStart=/usr/bin/socat TCP-LISTEN:23,fork,range=10.0.0.1/32 EXEC:/bin/bash", "socat", nil),
    ("ExecStart=/usr/bin/socat TCP-LISTEN:23,fork EXEC:/bin/login", "socat", .unknown),
    ("ExecStart=/usr/bin/socat TCP-LISTEN:80,fork TCP:10.0.0.1:80", "socat", nil),
  ])
  func `a vendor's service of another name`(_ text: String, _ door: String, _ wanted: Answer?) throws {
    #expect(try answer(service(text), "remote@\(door)") == wanted)
  }

  @Test func `a script that a service starts`() throws {
    let script = "#!/bin/sh\ncommand -v ttyd || exit 0\nif true; then x11vnc & fi\n"
    let result = try service("ExecStart=/opt/start.sh", ["/opt/start.sh": script])
    #expect(answer(result, "remote@vnc") == .unknown)
    #expect(answer(result, "remote@ttyd") == nil)
  }

  @Test func `an instance`() throws {
    let result = try look(
      [
        "\(Self.units)/multi-user.target": "[Unit]\n",
        "\(Self.units)/v@.service": "[Service]\nExecStart=/usr/bin/x11vnc\n",
      ],
      links: ["\(Self.wants)/v@0.service": "\(Self.units)/v@.service"])
    #expect(answer(result, "remote@vnc") == .unknown)
  }

  @Test(arguments: [
    ("2323", "/bin/bash -i", Answer.notRequired), ("/run/own", "/bin/bash -i", nil),
    ("127.0.0.1:2323", "/bin/sh", nil), ("2323", "/bin/login", .unknown), ("2323", "/usr/bin/app", nil),
  ])
  func `a socket that brings a shell`(_ address: String, _ command: String, _ wanted: Answer?) throws {
    let files = [
      "\(Self.units)/multi-user.target": "[Unit]\n",
      "\(Self.units)/own.socket": "[Socket]\nListenStream=\(address)\nAccept=yes\n",
      "\(Self.units)/own@.service": "[Service]\nExecStart=-\(command)\nStandardInput=socket\n",
    ]
    let links = ["/etc/systemd/system/sockets.target.wants/own.socket": "\(Self.units)/own.socket"]
    #expect(try answer(look(files, links: links), "remote@shell") == wanted)
  }

  @Test func `each sshd has a configuration of its own`() throws {
    let files = [
      "/usr/sbin/sshd": "", "/etc/ssh/sshd_config": "PasswordAuthentication no\n",
      "/etc/ssh/other": "PermitRootLogin yes\n", "\(Self.units)/multi-user.target": "[Unit]\nWants=ssh.service\n",
      "\(Self.units)/ssh.service": "[Service]\nExecStartPre=/usr/sbin/sshd -t\nExecStart=/usr/sbin/sshd -D\n",
    ]
    let started = try service("ExecStart=/usr/sbin/sshd -D -f /etc/ssh/other", files)
    #expect(answer(started, "ssh@sshd", "root") == .required)
    let tested = try service("ExecStartPre=/usr/sbin/sshd -t -f /etc/ssh/other\nExecStart=/usr/sbin/sshd -D", files)
    #expect(answer(tested, "ssh@sshd", "root") == .closed)
  }

  // MARK: Scripts

  private static let busybox = [
    "/bin/busybox": "", "/etc/inittab": "::sysinit:/etc/init.d/rcS\ntty1::respawn:/sbin/getty 38400 tty1\n",
  ]

  private func small(_ files: [String: String], _ links: [String: String] = [:]) throws -> ProbeResult {
    try look(
      Self.busybox.merging(files) { $1 }, links: links.merging(["/sbin/init": "/bin/busybox"]) { $1 },
      executable: files.keys.filter { $0.hasSuffix(".start") })
  }

  @Test(arguments: [
    ("/etc/init.d/S99own", "#!/bin/sh\ntelnetd -l /bin/sh &\n", "telnet"),
    ("/etc/init.d/rcS", "#!/bin/sh\nmount -a\ntelnetd -l /bin/sh &\n", "telnet"),
    ("/etc/init.d/S50usb", "#!/bin/sh\ncase $1 in start) start-stop-daemon -Sqbx /usr/bin/adbd ;; esac\n", "adb"),
    ("/opt/bootlocal.sh", "#!/bin/sh\ntelnetd &\n", "telnet"),
  ])
  func `a script of a small system`(_ path: String, _ text: String, _ door: String) throws {
    #expect(try answer(small([path: text]), "remote@\(door)") == .unknown)
    let stopped = text.replacing("telnetd", with: "echo telnetd").replacing("-Sqbx", with: "-Kqbx")
    #expect(try answer(small([path: stopped]), "remote@\(door)") == nil)
  }

  @Test func `OpenRC's declarations and local scripts`() throws {
    let linked = ["/etc/runlevels/default/own": "/etc/init.d/own", "/etc/runlevels/default/local": "/etc/init.d/local"]
    let script = "#!/sbin/openrc-run\ncommand=/usr/bin/ttyd\ncommand_args=\"-p 80 login -f root\"\n"
    #expect(try answer(small(["/etc/init.d/own": script], linked), "remote@ttyd") == .unknown)
    #expect(try answer(small(["/etc/init.d/own": script]), "remote@ttyd") == nil)
    let kiosk = "#!/sbin/openrc-run\ncommand=/usr/bin/cage\ncommand_user=pi:pi\n"
    #expect(try answer(small(["/etc/init.d/own": kiosk], linked), "login@console", "pi") == .unknown)
    let local = ["/etc/local.d/a.start": "#!/bin/sh\nsu pi -c startx &\n"]
    #expect(try answer(small(local, linked), "login@console", "pi") == .unknown)
  }

  @Test(arguments: [
    ("su pi -c startx &", "console", "pi", Answer.unknown), ("openvt -c 2 -- su -l pi", "console", "pi", .unknown),
    ("su pi -c /usr/bin/app", "console", "pi", nil), ("echo su pi", "console", "pi", nil),
    ("exec sh", "console", "root", .unknown), ("sh\nmount -a", "console", "root", nil),
  ])
  func `consoles in rc.local`(_ line: String, _ terminal: String, _ who: String, _ wanted: Answer?) throws {
    let files = ["\(Self.units)/multi-user.target": "[Unit]\n", "/etc/rc.local": "#!/bin/sh\n\(line)\n"]
    let started = try look(files, executable: ["/etc/rc.local"])
    #expect(answer(started, "login@\(terminal)", who) == wanted)
    #expect(try answer(look(files), "login@\(terminal)", who) == nil)
  }

  @Test func `cron at the start`() throws {
    let files = [
      "\(Self.units)/multi-user.target": "[Unit]\n",
      "\(Self.units)/cron.service": "[Service]\nExecStart=/usr/sbin/cron\n",
      "/etc/crontab": "@reboot pi x11vnc -forever\n1 2 * * * root ttyd bash\n",
      "/var/spool/cron/crontabs/root": "@reboot /usr/bin/gotty bash\n",
    ]
    let started = try look(files, links: ["\(Self.wants)/cron.service": "\(Self.units)/cron.service"])
    #expect(answer(started, "remote@vnc") == .unknown)
    #expect(answer(started, "remote@gotty") == .unknown)
    #expect(answer(started, "remote@ttyd") == nil)
  }

  @Test func `dropbear that a script may start opens nothing for certain`() throws {
    let files = [
      "\(Self.units)/multi-user.target": "[Unit]\n", "/usr/sbin/dropbear": "", "/etc/shells": "/bin/sh\n",
      "/etc/shadow": "root::1::::::\n", "/etc/rc.local": "#!/bin/sh\ndropbear -B\n",
      "\(Self.units)/own.service": "[Service]\nExecStart=/usr/bin/app\n",
    ]
    let links = ["\(Self.wants)/own.service": "\(Self.units)/own.service"]
    let result = try look(files, links: links, executable: ["/etc/rc.local"])
    #expect(answer(result, "ssh@dropbear", "root") == .unknown)
  }

  // MARK: inetd, people's own units

  @Test func `a shell that inetd starts`() throws {
    let row = "7777 stream tcp nowait root /bin/sh sh -i\n"
    let inittab = "::sysinit:/etc/init.d/rcS\n::respawn:/usr/sbin/inetd -f\n"
    let result = try small(["/etc/inetd.conf": row, "/etc/inittab": inittab, "/etc/init.d/S01a": "#!/bin/sh\n"])
    #expect(answer(result, "remote@shell") == .notRequired)
  }

  @Test func `units of people whose systemd lingers`() throws {
    let own = "/home/pi/.config/systemd/user"
    let files = ["\(own)/v.service": "[Service]\nExecStart=/usr/bin/wayvnc 0.0.0.0\n"]
    let links = ["\(own)/default.target.wants/v.service": "../v.service"]
    #expect(try answer(look(files, links: links), "remote@vnc") == nil)
    let lingering = files.merging(["/var/lib/systemd/linger/pi": ""]) { $1 }
    #expect(try answer(look(lingering, links: links), "remote@vnc") == .unknown)
  }
}
