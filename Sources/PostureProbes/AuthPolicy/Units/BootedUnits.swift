/// What systemd starts on its way to the default target.
struct BootedUnits: Sendable {
  /// Canonical name of the default target; `graphical.target` where nothing says otherwise.
  let defaultTarget: String
  /// No unit links any other: a tree where nothing was ever enabled counts as started.
  let hasNoLinks: Bool
  private let names: Set<String>
  private let units: Units

  init(_ units: Units, _ goal: BootGoal = BootGoal()) {
    self.units = units
    let named = units.canonical(goal.target ?? "default.target")
    defaultTarget = named == "default.target" ? "graphical.target" : named
    hasNoLinks = units.enabledNames.isEmpty
    names = Self.closure(from: [defaultTarget] + goal.wanted + Self.always, units)
  }

  /// Targets that every ordinary boot passes; a small tree need not have their files to be believed.
  private static let always = [
    "sysinit.target", "basic.target", "sockets.target", "timers.target", "paths.target", "local-fs.target",
    "network.target", "network-online.target", "getty.target", "remote-fs.target",
  ]

  private static let pulling = ["Wants", "Requires", "BindsTo", "Upholds"]
  /// Units of other types need nothing that could be a door, and there are many of them.
  private static let following = [".target", ".service", ".socket", ".timer", ".path"]

  private static func closure(from start: [String], _ units: Units) -> Set<String> {
    var reached = Set<String>()
    var queue = start.map(units.canonical)
    while let name = queue.popLast() {
      guard reached.count < 10_000, reached.insert(name).inserted else { continue }
      var next = units.names(of: name).flatMap(units.wanted)
      if following.contains(where: name.ends), let unit = units.unit(name), !unit.isMasked {
        next += unit.names(pulling)
        if let other = unit.triggered, units.canStart(name) { next.append(other) }
      }
      // graphical.target always requires multi-user.target; a tree without its file says no more than the name.
      if name == "graphical.target" { next.append("multi-user.target") }
      queue += next.map(units.canonical)
    }
    return reached
  }

  /// Whether a boot reaches this unit, by whatever name, and nothing keeps it from starting.
  func starts(_ name: String) -> Bool {
    guard units.canStart(name) else { return false }
    return hasNoLinks || names.contains(units.canonical(name))
  }

  /// Whether a boot reaches the target or service by a link or a dependency, masks aside.
  func reaches(_ name: String) -> Bool { names.contains(units.canonical(name)) }

  /// The services that a boot reaches; a template is none.
  var services: [String] { names.filter { $0.ends(with: ".service") && !$0.ends(with: "@.service") }.sorted() }

  /// The sockets that it reaches.
  var sockets: [String] { names.filter { $0.ends(with: ".socket") }.sorted() }

  /// Whether the desktop is started: the default target is, or pulls in, graphical.target.
  var isGraphical: Bool { reaches("graphical.target") || reaches("display-manager.service") }
}
