/// Units that no boot's goal starts and that are started all the same: by a device (`SYSTEMD_WANTS` of udev(7)), by a
/// credential (systemd-getty-generator(8)), by a program that calls systemctl(1).
struct WokenUnits {
  let system: System
  let units: Units
  let booted: BootedUnits
  let kernel: BootWords

  var names: Set<String> { Set(byDevices + byCredentials + byPrograms) }

  // MARK: Devices

  /// Strongest first.
  private static let folders = ["/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"].map { "\($0)/udev/rules.d" }
  private static let variable = "ENV{SYSTEMD_WANTS}"

  private var byDevices: [String] {
    var seen = Set<String>()
    return Self.folders.flatMap { folder in
      ((try? system.list(folder)) ?? []).filter { $0.ends(with: ".rules") && seen.insert($0).inserted }
        .flatMap { LogicalLines(system.text("\(folder)/\($0)") ?? "", comments: ["#"]) }
        .flatMap { Self.wanted(by: $0.text) }
    }
  }

  /// Whatever else a rule asks of its device counts as met.
  private static func wanted(by rule: String) -> [String] {
    let fields = rule.split(separator: ",").map(\.trimmed)
    let name = kernelName(fields)
    return fields.filter { $0.hasPrefix(variable) }.flatMap { field -> [String] in
      let rest = field.dropFirst(variable.count).trimmed
      guard !rest.hasPrefix("=="), !rest.hasPrefix("!=") else { return [] }
      return rest.drop { "+:=".contains($0) }.filter { $0 != "\"" }.words().map { word in
        let unit = String(word).replacing("%k", with: name).replacing("$kernel", with: name)
        return UnitName(unit)?.isTemplate == true ? unit.replacing("@.", with: "@\(name).") : unit
      }
    }
  }

  /// `ttyGS0` of `KERNEL=="ttyGS0"`, and of `KERNEL=="ttyGS*"`: the first of its kind.
  private static func kernelName(_ fields: [String]) -> String {
    guard let field = fields.first(where: { $0.hasPrefix("KERNEL==") }) else { return "" }
    let pattern = field.dropFirst("KERNEL==".count).filter { $0 != "\"" }
    let start = String(pattern.prefix { !"*?[|".contains($0) })
    return start == pattern || pattern.dropFirst(start.count).hasPrefix("|") ? start : start + "0"
  }

  // MARK: Credentials

  private var byCredentials: [String] {
    [("getty.ttys.serial", "serial-getty"), ("getty.ttys.container", "container-getty")].flatMap { name, prefix in
      let text = kernel.credential(name) ?? system.text("/run/credentials/@system/\(name)") ?? ""
      return text.words().map { "\(prefix)@\(String($0).substituting("pts/", with: "")).service" }
    }
  }

  // MARK: Programs

  private var byPrograms: [String] {
    let reader = TerminalReader(system: system)
    return units.ownServices.filter(booted.starts).flatMap { units.unit($0)?.commands() ?? [] }
      .flatMap { command -> [[String]] in
        guard let text = reader.text(of: command.program) else { return SimpleCommands.of(command.words) }
        return ShellScript(text, command.arguments, files: reader.content).commands.map(\.words)
      }
      .flatMap(Self.started)
  }

  private static func started(by words: [String]) -> [String] {
    let operands = words.dropFirst().filter { !$0.hasPrefix("-") }
    guard Programs.base(words[0]) == "systemctl", let verb = operands.first,
      ["start", "restart", "reload-or-restart"].contains(verb) || (verb == "enable" && words.contains("--now"))
    else { return [] }
    return operands.dropFirst().map { UnitName($0) == nil ? "\($0).service" : $0 }
  }
}
