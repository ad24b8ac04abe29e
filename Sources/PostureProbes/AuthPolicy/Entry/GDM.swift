import Posture

/// GNOME's display manager (daemon/gdm-settings, data/gdm.schemas).
struct GDM {
  private let context: AuthContext

  init(_ context: AuthContext) { self.context = context }

  /// The services that ask, in parallel: password, fingerprint, smart card.
  static func services(_ context: AuthContext, _ settings: DconfSettings?) -> [String] {
    let pam = context.pam
    let password = pam.hasService("gdm-password") || !pam.hasService("gdm") ? "gdm-password" : "gdm"
    let others = ["fingerprint", "smartcard"].filter { way in
      let key = DconfKey("org.gnome.login-screen", "enable-\(way)-authentication")
      return pam.hasService("gdm-\(way)") && settings?.boolean(key, default: true).content ?? true
    }
    return [password] + others.map { "gdm-\($0)" }
  }

  /// Those of the greeter, by the settings of its own session.
  static func services(_ context: AuthContext) -> [String] {
    let account = ["gdm", "Debian-gdm", "gdm3"].lazy.compactMap { context.accounts[$0] }.first
    return services(context, try? DconfSettings(greeter: context.system, account))
  }

  var setup: DisplayManagerSetup {
    var setup = DisplayManagerSetup(services: Self.services(context))
    let values = values
    if let login = values.automatic ?? preset { setup.automatic.append(login) }
    if let login = values.timed { setup.automatic.append(login) }
    if let place = values.xdmcp { setup.overNetwork.append(("xdmcp", place)) }
    return setup
  }

  /// Whether gnome-initial-setup, where it is there, is started while nobody could log in.
  var startsInitialSetup: Bool { values.startsInitialSetup }

  private var values: Values { Values(files.compactMap(read)) }

  /// SUSE's gdm takes this file's word besides.
  private var preset: AutomaticLogin? {
    let distribution = context.distribution
    guard ([distribution.id] + distribution.like).contains(where: { $0.contains("suse") || $0.hasPrefix("sle") }),
      let user = VariableFile.value("DISPLAYMANAGER_AUTOLOGIN", in: "/etc/sysconfig/displaymanager", context.system)
    else { return nil }
    return AutomaticLogin(
      user: user.text, place: user.place, service: "gdm-autologin", oncePerBoot: true,
      note: "automatic login once per boot", observed: "DISPLAYMANAGER_AUTOLOGIN=\(user.text)")
  }

  /// One file is compiled in, by distribution; /run overrides it. Where the distribution is not known, the one that is there.
  private var files: [String] {
    let all = ["/etc/gdm3/custom.conf", "/etc/gdm3/daemon.conf", "/etc/gdm/custom.conf"]
    let distribution = context.distribution
    let isUbuntu = distribution.id == "ubuntu" || distribution.like.contains("ubuntu")
    let own = isUbuntu ? all[0] : distribution.isDebian ? all[1] : all[2]
    let isKnown = distribution.id != "linux" || !distribution.like.isEmpty
    let chosen = isKnown ? own : all.first(where: context.system.exists) ?? own
    return [chosen, "/run/gdm3/custom.conf", "/run/gdm/custom.conf"]
  }

  /// gdm warns of a line that GLib refuses, and goes on with what stands before it.
  private func read(_ path: String) -> (path: String, file: GLibKeyFile)? {
    context.system.text(path).map { (path, GLibKeyFile(upToFault: $0)) }
  }

  private struct Values {
    private let files: [(path: String, file: GLibKeyFile)]

    init(_ files: [(path: String, file: GLibKeyFile)]) { self.files = files }

    var automatic: AutomaticLogin? {
      guard isOn("AutomaticLoginEnable"), let (user, place) = user("AutomaticLogin") else { return nil }
      return AutomaticLogin(
        user: user, place: place, service: "gdm-autologin", oncePerBoot: true, note: "automatic login once per boot",
        observed: "AutomaticLoginEnable=true, AutomaticLogin=\(user)")
    }

    var timed: AutomaticLogin? {
      guard isOn("TimedLoginEnable"), let (user, place) = user("TimedLogin") else { return nil }
      let written = value("TimedLoginDelay").flatMap { Int($0.value) } ?? 30
      let delay = written > 0 ? written : 10
      return AutomaticLogin(
        user: user, place: place, service: "gdm-autologin", oncePerBoot: false, note: "timed login after \(delay) s",
        observed: "TimedLoginEnable=true, TimedLogin=\(user)", code: "timedLogin")
    }

    var startsInitialSetup: Bool { !["false", "0"].contains(value("InitialSetupEnable")?.value.lowercased()) }

    /// Where the greeter is shown to the network.
    var xdmcp: Place? { isOn("Enable", "xdmcp") ? value("Enable", "xdmcp")?.place : nil }

    private func value(_ key: String, _ group: String = "daemon") -> (value: String, place: Place)? {
      files.compactMap { path, file in
        file.entry(group, key).map { (GLibKeyFile.string($0.value), Place(path, line: $0.line)) }
      }.last
    }

    /// "true" and "false" in any case, or 1 and 0.
    private func isOn(_ key: String, _ group: String = "daemon") -> Bool {
      ["true", "1"].contains(value(key, group)?.value.lowercased() ?? "")
    }

    private func user(_ key: String) -> (String, Place)? {
      value(key).flatMap { $0.value.isEmpty ? nil : ($0.value, $0.place) }
    }
  }
}
