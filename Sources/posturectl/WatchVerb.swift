import Glibc
import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl watch`: the fleet, live.
struct WatchVerb: Verb {
  static let name = "watch"
  static let summary = "the fleet, live: a table on a terminal, lines elsewhere"
  static let help = """
    usage: posturectl watch [--sort state|name|age|since] [--state STATE]... [--group G] [--filter TEXT]
                            [--once] [--json] [--home DIR]

    On a terminal: a table that follows the fleet (q ends, s changes the order). Elsewhere, and where TERM is dumb: one line
    for each change.
    What a monitor noticed that keeps its history in the folder, and nobody has accepted yet (posturectl acknowledge), is
    shown here too. POLICY shows "entry→kiosk" for a device that is not yet on the policy that was published for it. SINCE
    shows "≥5m" where the verdict was not seen to change: it has been the same for at least so long. In JSON "since" is the
    change, null where it was not seen, and "knownSince" the first time that the verdict is known to have been the same.

      --state STATE    only these: pass, fail, unknown, stale, silent, cloned, ageUnproven, trustStale, awaitingKey,
                       equivocation, chainBroken, revoked, unverifiable
      --filter TEXT    only devices whose name or reasons hold TEXT
      --once           print what is known now, and end
      --json           one JSON object for each change (with --once: one for each device)
    """

  private let home: HomeOption
  private let selection: RowSelection
  private let isOnce: Bool
  private let isJSON: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    home = try HomeOption(&arguments)
    isOnce = arguments.flag("--once")
    isJSON = arguments.flag("--json")
    selection = try Self.selection(&arguments)
    try arguments.end()
  }

  private static func selection(_ arguments: inout Arguments) throws(UsageError) -> RowSelection {
    var selection = RowSelection()
    if let word = try arguments.option("--sort") {
      guard let order = RowSelection.Order(rawValue: word) else {
        throw UsageError(
          "--sort \(word): not one of \(RowSelection.Order.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      selection.order = order
    }
    let known = Set(DeviceStatus.Standing.all.map(\.text))
    for state in try arguments.options("--state") {
      guard known.contains(state) else { throw UsageError("--state \(state): not a state") }
      selection.states.insert(state)
    }
    selection.group = try arguments.name("--group")?.description
    selection.text = try arguments.option("--filter")
    return selection
  }

  func run() throws -> Int32 {
    var watch = try FleetWatch(home.open())
    try watch.gather()
    if isOnce {
      if let trouble = watch.takeTrouble() { Terminal.error("posturectl: \(trouble)") }
      watch.close()
      return once(watch)
    }
    if Terminal.isScreen(1), !isJSON { return LiveTable(selection).run(&watch) }
    follow(&watch)
    return 0
  }

  private func once(_ watch: FleetWatch) -> Int32 {
    let now = Clock.wall
    let rows = selection.apply(to: watch.rows(at: now))
    if isJSON {
      rows.forEach { Terminal.out($0.json.text) }
    } else {
      FleetTable(rows, at: now).lines(width: Terminal.width).forEach(Terminal.out)
      Terminal.out(watch.summary(at: now))
    }
    return 0
  }

  /// Until the reader goes away or a signal ends it.
  private func follow(_ watch: inout FleetWatch) {
    var changes = RowChanges()
    Stop.onSignals()
    while !Stop.isAsked && !Terminal.isOutputLost {
      let now = Clock.wall
      for row in selection.apply(to: changes.take(watch.rows(at: now))) {
        Terminal.out(isJSON ? row.json.text : FleetLine.text(row, at: now))
      }
      watch.take(milliseconds: 500)
      if let trouble = watch.takeTrouble() { Terminal.error("posturectl: \(trouble)") }
    }
  }
}
