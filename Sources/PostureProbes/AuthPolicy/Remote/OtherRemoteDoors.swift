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
    Service("proxmox", ["pveproxy", "pmgproxy", "proxmox-backup-proxy"]),
    Service("openmediavault", ["openmediavault-engined"]),
    Service(
      "vnc",
      [
        "vncserver-x11-serviced", "vncserver-virtuald", "x11vnc", "vncserver", "tigervncserver", "tightvncserver",
        "wayvnc", "vino-server", "xvnc", "krfb", "x0vncserver", "x0tigervncserver",
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
    Service("mender-connect", ["mender-connect"]),
    Service("amazon-ssm-agent", ["amazon-ssm-agent", "snap.amazon-ssm-agent.amazon-ssm-agent"]),
    Service("meshagent", ["meshagent"]),
    Service("dwagent", ["dwagent", "dwagsvc"]),
    Service("sshx", ["sshx"]),
    Service("rport", ["rport"]),
    Service("dataplicity", ["dataplicity", "tuxtunnel"]),
    Service("tmate", ["tmate"]),
    Service("cloudflared", ["cloudflared"]),
    Service("netbird", ["netbird"]),
    Service("rpi-connect", ["rpi-connect", "rpi-connectd"]),
  ]

  static func look(_ context: AuthContext) -> ProbeResult {
    var result = ProbeResult()
    let lingering = LingeringUnits(context).commands
    for service in services {
      let evidence = evidence(of: service, context)
      if let command = commands(of: service, context).first(where: RemoteShells.isOpen) {
        result.doors.append(RemoteShells.open(service.name, command))
      } else if let evidence, context.startup.starts(service.units + instances(of: service, context)) {
        result.doors.append(door(service.name, evidence))
      } else if let command = commands(of: service, context).first ?? possible(service, context, lingering) {
        result.doors.append(door(service.name, command.place))
      } else if let evidence {
        result.remarks.append(
          Remark(
            Cause("dormantDoor", observed: "\(service.name) is installed but not started", evidence: [evidence]),
            check: .remoteEntry, door: "remote@\(service.name)"))
      }
    }
    result.doors += RemoteShells.look(context)
    let others =
      InternetServices(context).found + DisplayOverNetwork.found(context) + TailscaleShell.found(context)
    for (name, place) in others
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
    let script = present.first { service.units.contains(InitScripts.service($0) ?? $0) }
    guard let script, hasFiles(service, context) else { return nil }
    return Place("/etc/init.d/\(script)")
  }

  /// A web server is this way in only with the pages that belong to it.
  private static func hasFiles(_ service: Service, _ context: AuthContext) -> Bool {
    service.files.isEmpty || service.files.contains { context.system.exists($0) }
  }

  /// Services whose name is also their client's.
  private static let clients: Set = ["telnet", "rlogin", "rsh", "rexec"]

  private static func programs(of service: Service) -> [String] { service.units.filter { !clients.contains($0) } }

  /// Commands that start a program of the service under another name.
  private static func commands(of service: Service, _ context: AuthContext) -> [UnitCommand] {
    guard hasFiles(service, context) else { return [] }
    return StartedCommands.of(context.system, context.startup).running(programs(of: service))
  }

  /// One in a script or in somebody's own units.
  private static func possible(
    _ service: Service, _ context: AuthContext, _ lingering: [UnitCommand]
  ) -> UnitCommand? {
    let programs = programs(of: service)
    guard hasFiles(service, context) else { return nil }
    return StartedCommands.of(context.system, context.startup).mayRun(programs).first
      ?? lingering.first { programs.contains(Programs.base($0.program)) }
  }

  /// Instances of templates: `vncserver@:1`.
  private static func instances(of service: Service, _ context: AuthContext) -> [String] {
    service.units.flatMap { name in
      context.startup.units.instances(of: name).map { String($0.prefix { $0 != "." }) }
    }
  }
}

/// Services that inetd(8) or xinetd(8) start.
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
}

/// A display manager that is started and shows its greeter to the network.
private enum DisplayOverNetwork {
  static func found(_ context: AuthContext) -> [(String, Place)] {
    DisplayManagerSearch(context).found.filter(\.isStarted).flatMap { found in
      found.manager.setup(context).overNetwork.map { ($0.service, $0.place) }
    }
  }
}

/// tailscaled, which has an SSH server of its own: its rules are the network's.
private enum TailscaleShell {
  private static let usual = "/var/lib/tailscale/tailscaled.state"

  static func found(_ context: AuthContext) -> [(String, Place)] {
    guard context.startup.starts(["tailscaled", "tailscale"]), let path = state(context) else { return [] }
    do throws(System.Unreadable) {
      return isOn(try context.system.read(path).bytes) ? [("tailscale", Place(path))] : []
    } catch {
      return error == .missing ? [] : [("tailscale", Place(path))]
    }
  }

  /// The file that `--state` names; nil where tailscaled is not installed.
  private static func state(_ context: AuthContext) -> String? {
    guard Programs.has("tailscaled", context.system) else { return nil }
    let words = context.startup.units.unit("tailscaled.service")?.commands().last?.arguments ?? []
    let named = words.first { $0.hasPrefix("--state=/") || $0.hasPrefix("-state=/") }
    return named.map { String($0.drop { $0 != "/" }) } ?? usual
  }

  /// Each profile is an object of its own, in Base64; what cannot be read may have it on.
  private static func isOn(_ bytes: [UInt8]) -> Bool {
    guard let members = (try? JSONParser.parse(bytes, limits: .foreign))?.members else { return true }
    return members.filter { $0.name.hasPrefix("profile-") }.contains { member in
      guard let text = member.value.string, let bytes = Base64.decode(text.utf8),
        let profile = try? JSONParser.parse(bytes, limits: .foreign)
      else { return true }
      return profile["RunSSH"]?.bool ?? false
    }
  }
}
