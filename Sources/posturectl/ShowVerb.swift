import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl show`: everything about one device.
struct ShowVerb: Verb {
  static let name = "show"
  static let summary = "everything about one device: state, doors, evidence, advice, chain"
  static let help = """
    usage: posturectl show DEVICE [--json] [--home DIR]

    Reads what the broker keeps of the device, verifies it, and prints it, with what a monitor noticed that keeps its
    history in the folder and nobody has accepted yet (posturectl acknowledge).

    exit status: 0 the device's state is pass, 1 fail, 2 anything else (unknown, stale, silent …), 3 nothing is known of it
    """

  private let home: HomeOption
  private let device: Name
  private let isJSON: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    home = try HomeOption(&arguments)
    isJSON = arguments.flag("--json")
    let text = try arguments.rest(1...1, "the device's name")[0]
    guard let device = Name(text) else { throw UsageError("\(text): not a name") }
    self.device = device
  }

  func run() throws -> Int32 {
    var watch = try FleetWatch(home.open(), Gathering.filters(of: device))
    try watch.gather()
    watch.close()
    if let trouble = watch.takeTrouble() { Terminal.error("posturectl: \(trouble)") }
    guard let detail = watch.detail(device, at: Clock.wall) else {
      return Posturectl.unknown(device)
    }
    if isJSON { Terminal.out(detail.json.text) } else { detail.lines(width: Terminal.width).forEach(Terminal.out) }
    switch detail.row.standing {
    case .verdict(let verdict): return ExitStatus.of(verdict)
    case .condition: return 2
    }
  }
}
