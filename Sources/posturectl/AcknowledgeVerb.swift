import Glibc
import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl acknowledge`: an operator has looked.
struct AcknowledgeVerb: Verb {
  static let name = "acknowledge"
  static let summary = "accept what broke a device's chain or key, after looking into it"
  static let help = """
    usage: posturectl acknowledge DEVICE --why TEXT [--by NAME] [--history FILE | --home DIR]
           posturectl acknowledge --list [--json] [--history FILE | --home DIR]

    chainBroken, equivocation and cloned stay on a device until somebody has looked into them, over restarts of the
    monitor too; so does the warning that a device declared events lost. This accepts everything that has been noticed
    of the device so far; one whose state was put back may use the numbers of before again. The monitor takes it within
    a second, or at its next start. What was noticed, who accepted it and why are kept: see posturectl history. Messages
    that contradict each other are kept both, see posturectl export.

      --why TEXT       what you found out
      --by NAME        who you are (default: the account that runs this)
      --list           what is open, of every device
      --history FILE   (default: monitor/history.db in the folder)

    exit status: 0 accepted, 1 nothing is open for this device; --list: 0 nothing is open, 1 something is
    """

  private enum Action {
    case list(json: Bool)
    case accept(Name, by: String, why: String)
  }

  private let history: HistoryOption
  private let action: Action

  init(_ arguments: inout Arguments) throws(UsageError) {
    history = try HistoryOption(&arguments)
    action =
      arguments.flag("--list") ? .list(json: arguments.flag("--json")) : try Self.acceptance(&arguments)
    try arguments.end()
  }

  private static func acceptance(_ arguments: inout Arguments) throws(UsageError) -> Action {
    let why = try arguments.option("--why")
    let by = try arguments.option("--by") ?? account
    let text = try arguments.rest(1...1, "the device's name")[0]
    guard let device = Name(text) else { throw UsageError("\(text): not a name") }
    guard let why, (1...500).contains(why.utf8.count) else {
      throw UsageError("--why TEXT is missing, or longer than 500 bytes")
    }
    return .accept(device, by: by, why: why)
  }

  private static var account: String {
    getpwuid(getuid()).map { String(cString: $0.pointee.pw_name) } ?? "uid \(getuid())"
  }

  func run() throws -> Int32 {
    let path = try history.path()
    switch action {
    case .list(let isJSON): return list(try SQLiteHistory.reading(path).openBreaches(), isJSON)
    case .accept(let device, let by, let why):
      let store = try SQLiteHistory.existing(path)
      guard let breaches = try store.openBreaches()[device] else {
        Terminal.error("posturectl: \(device): nothing is open")
        return 1
      }
      _ = try store.add(HistoryRemark(device: device, at: Clock.wall, by: by, kind: .acknowledged(why: why)))
      for breach in breaches { Terminal.out("accepted: \(breach.breach.rawValue): \(Terminal.plain(breach.text))") }
      return 0
    }
  }

  private func list(_ open: [Name: [OpenBreach]], _ isJSON: Bool) -> Int32 {
    var table = Table("DEVICE", "WHAT", "SEEN")
    for (device, breaches) in open.sorted(by: { $0.key.description < $1.key.description }) {
      for breach in breaches {
        let json: JSON = [
          "device": .string(device.description), "breach": .string(breach.breach.rawValue),
          "text": .string(breach.text),
        ]
        if isJSON { Terminal.out(json.text) }
        table.add(Table.Cell(device.description), Table.Cell(breach.breach.rawValue, .red), Table.Cell(breach.text))
      }
    }
    if !isJSON && !open.isEmpty { table.lines(width: Terminal.width).forEach(Terminal.out) }
    return open.isEmpty ? 0 : 1
  }
}
