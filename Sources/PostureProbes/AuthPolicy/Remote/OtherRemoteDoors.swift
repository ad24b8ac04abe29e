import Posture

/// Other ways in over the network: `remote@<service>`, whose own rules are not modelled.
enum OtherRemoteDoors {
  /// A service that lets people in, or shows them a desktop or a shell.
  private struct Service {
    let name: String
    /// What it is called where it is started, without suffix.
    let units: [String]
    /// Its programs, or other files that come with it.
    let files: [String]

    init(_ name: String, _ units: [String], _ files: [String] = []) {
      self.name = name
      self.units = units
      self.files = files
    }
  }

  private static let services = [
    Service("cockpit", ["cockpit"]),
    Service("luci", ["uhttpd"], ["/www/cgi-bin/luci", "/usr/lib/lua/luci", "/www/luci-static"]),
    Service("webmin", ["webmin"]),
    Service("usermin", ["usermin"]),
    Service("ajenti", ["ajenti"]),
    Service(
      "vnc",
      [
        "vncserver-x11-serviced", "vncserver-virtuald", "x11vnc", "vncserver", "tigervncserver", "tightvncserver",
        "wayvnc", "vino-server", "xvnc", "krfb",
      ]),
    Service("gnome-remote-desktop", ["gnome-remote-desktop"]),
    Service("xrdp", ["xrdp"]),
    Service("nomachine", ["nxserver"]),
    Service("anydesk", ["anydesk"]),
    Service("teamviewer", ["teamviewerd"]),
    Service("rustdesk", ["rustdesk"]),
    Service("telnet", ["telnetd", "telnet", "inetutils-telnetd", "utelnetd"]),
    Service("rlogin", ["rlogin"]),
    Service("rsh", ["rsh", "rshd"]),
    Service("rexec", ["rexec"]),
    Service("shellinabox", ["shellinabox", "shellinaboxd"]),
    Service("ttyd", ["ttyd"]),
    Service("gotty", ["gotty"]),
    Service("wetty", ["wetty"]),
    Service("code-server", ["code-server"]),
    Service("guacamole", ["guacd"]),
    Service("jupyter", ["jupyter", "jupyterhub", "jupyter-notebook", "jupyterlab"]),
    Service("teleport", ["teleport"]),
    Service("tinyssh", ["tinysshd"]),
    Service("adb", ["adbd", "android-tools-adbd"]),
  ]

  static func look(_ context: AuthContext) -> ProbeResult {
    var result = ProbeResult()
    for service in services {
      guard let evidence = evidence(of: service, context) else { continue }
      if context.startup.starts(service.units + instances(of: service, context)) {
        result.doors.append(door(service.name, evidence))
      } else {
        result.remarks.append(
          Remark(
            Cause("dormantDoor", observed: "\(service.name) is installed but not started", evidence: [evidence]),
            check: .remoteEntry, door: "remote@\(service.name)"))
      }
    }
    for (name, place) in InternetServices(context).found + DisplayOverNetwork.found(context.system)
    where !result.doors.contains(where: { $0.name == "remote@\(name)" }) {
      result.doors.append(door(name, place))
    }
    return result
  }

  private static func door(_ name: String, _ evidence: Place) -> Door {
    Door(
      "remote@\(name)", .remote, "*", nil, because: [Reason("remote.notModelled", evidence)],
      cause: Cause("notModelled", observed: "\(name) is started; what it asks is not known", evidence: [evidence]))
  }

  /// A unit or a start script of the service, or one of its files.
  private static func evidence(of service: Service, _ context: AuthContext) -> Place? {
    let units = context.startup.units
    let names = service.units.flatMap { ["\($0).service", "\($0).socket", "\($0)@.service"] }
    if let path = names.compactMap({ units.path(of: $0) }).first { return Place(path) }
    let present = (try? context.system.list("/etc/init.d")) ?? []
    let scripts = service.units.filter(present.contains).map { "/etc/init.d/\($0)" }
    guard let script = scripts.first else { return nil }
    // A web server is this way in only with the pages that belong to it.
    guard service.files.isEmpty || service.files.contains(where: { context.system.exists($0) }) else { return nil }
    return Place(script)
  }

  /// Instances of templates: `vncserver@:1`.
  private static func instances(of service: Service, _ context: AuthContext) -> [String] {
    service.units.flatMap { name in
      context.startup.units.instances(of: name).map { String($0.prefix { $0 != "." }) }
    }
  }
}

/// Services that inetd(8), xinetd(8) or init start by themselves.
private struct InternetServices {
  private static let names = ["telnet": "telnet", "shell": "rsh", "login": "rlogin", "exec": "rexec"]

  private(set) var found: [(String, Place)] = []
  private let system: System

  init(_ context: AuthContext) {
    system = context.system
    if context.startup.starts(["inetd", "openbsd-inetd", "inetutils-inetd", "xinetd"]) {
      readInetd()
      readXinetd()
    }
    readInittab()
  }

  private mutating func readInetd() {
    for line in LogicalLines(system.text("/etc/inetd.conf") ?? "") {
      guard let first = line.text.split(whereSeparator: { $0 == " " || $0 == "\t" }).first,
        let name = Self.names[String(first)]
      else { continue }
      found.append((name, Place("/etc/inetd.conf", line: line.number)))
    }
  }

  private mutating func readXinetd() {
    for file in (try? system.list("/etc/xinetd.d")) ?? [] {
      var service: String?
      var isDisabled = false
      for line in LogicalLines(system.text("/etc/xinetd.d/\(file)") ?? "") {
        let words = line.text.split { $0 == " " || $0 == "\t" || $0 == "=" }.map(String.init)
        if words.first == "service", words.count > 1 { service = words[1] }
        if words.first == "disable", words.last == "yes" { isDisabled = true }
      }
      guard let service, !isDisabled, let name = Self.names[service] else { continue }
      found.append((name, Place("/etc/xinetd.d/\(file)")))
    }
  }

  private mutating func readInittab() {
    for line in LogicalLines(system.text("/etc/inittab") ?? "") where line.text.contains("telnetd") {
      found.append(("telnet", Place("/etc/inittab", line: line.number)))
    }
  }
}

/// A display manager that shows its greeter to the network (XDMCP).
private enum DisplayOverNetwork {
  /// File, group, key.
  private static let switches = [
    ("/etc/gdm3/daemon.conf", "xdmcp", "enable"), ("/etc/gdm3/custom.conf", "xdmcp", "enable"),
    ("/etc/gdm/custom.conf", "xdmcp", "enable"), ("/etc/lightdm/lightdm.conf", "xdmcpserver", "enabled"),
    ("/etc/lightdm/lightdm.conf", "vncserver", "enabled"),
  ]

  static func found(_ system: System) -> [(String, Place)] {
    switches.compactMap { file, group, key in
      var current = ""
      for line in LogicalLines(system.text(file) ?? "") {
        if line.text.hasPrefix("[") { current = line.text.dropFirst().prefix { $0 != "]" }.lowercased() }
        guard current == group, let equals = line.text.firstIndex(of: "="),
          line.text[..<equals].trimmed.lowercased() == key,
          ["true", "1"].contains(line.text[line.text.index(after: equals)...].trimmed.lowercased())
        else { continue }
        return (group == "vncserver" ? "vnc" : "xdmcp", Place(file, line: line.number))
      }
      return nil
    }
  }
}
