import Glibc
import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl recheck`: asks for reports made now.
struct RecheckVerb: Verb {
  static let name = "recheck"
  static let summary = "ask devices for a report made now, and wait for the answers"
  static let help = """
    usage: posturectl recheck --device D... | --group G | --all [--timeout S] [--spread S] [--json] [--home DIR]
           posturectl recheck --wait --device D... | --group G | --all [--timeout S] [--spread S] [--json]
                              [--tokens DIR] [--home DIR]

    Sends a signed command. With --wait each answer is verified, and must echo this command's nonce; a device whose
    presence says that it is not connected is not waited for.

      --timeout S     seconds until silence is an answer (default: 30, and the spread on top)
      --spread S      seconds over which the devices of a group spread their answers
      --tokens DIR    keep each answer, as the device signed it, in DIR/DEVICE.jwt
      --json          one object on standard output

    What kept answers or devices from being seen (a connection that was lost) is told on standard error, and with --json
    as "troubles". What a monitor noticed that keeps its history in the folder, and nobody has accepted yet, is told in
    place of a verdict.

    exit status with --wait, the first that applies:
      5  the broker did not come to an end of naming devices: there may be more than were waited for
      4  nobody was asked, or an answer is missing or does not verify
      3  a device refused
      1  a verdict is fail
      2  a verdict is unknown, or what was noticed of a device waits for posturectl acknowledge
      0  every verdict is pass
    """

  private let home: HomeOption
  private let target: Recheck.Target
  private let options: Recheck.Options
  private let waits: Bool
  private let isJSON: Bool
  private let folder: String?

  init(_ arguments: inout Arguments) throws(UsageError) {
    home = try HomeOption(&arguments)
    target = try Self.target(&arguments)
    waits = arguments.flag("--wait")
    isJSON = arguments.flag("--json")
    folder = waits ? try arguments.option("--tokens") : nil
    let spread = try arguments.number("--spread", in: 0...3_600)
    let timeout = try arguments.number("--timeout", in: 1...3_600) ?? 30 + (spread ?? 0)
    try arguments.end()
    var options = Recheck.Options()
    options.timeout = Int64(timeout) * 1_000
    options.command.spread = spread.map(Int64.init)
    options.command.deadline = Int64(timeout)
    options.command.life = Int64(min(300, max(60, timeout)))
    self.options = options
  }

  static func target(_ arguments: inout Arguments) throws(UsageError) -> Recheck.Target {
    let devices = try arguments.names("--device")
    let group = try arguments.name("--group")
    let all = arguments.flag("--all")
    switch (devices.isEmpty, group, all) {
    case (false, nil, false): return .devices(devices)
    case (true, let group?, false): return .group(group)
    case (true, nil, true): return .all
    default: throw UsageError("give one of --device D, --group G, --all")
    }
  }

  func run() throws -> Int32 {
    let home = try home.open()
    if let folder { try Self.prepare(folder) }
    let recheck = try Recheck(home, as: Identity(.controller, in: home), target, options)
    try recheck.send()
    guard waits else { return sent(recheck.run) }
    let progress = ProgressLine(isOn: !isJSON)
    recheck.collect { run in progress.show { run.summary } }
    progress.clear()
    recheck.run.troubles.forEach { Terminal.error("posturectl: \($0)") }
    let table = RecheckTable(recheck.run)
    if isJSON { Terminal.out(table.json.text) } else { table.lines(width: Terminal.width).forEach(Terminal.out) }
    if let folder { try keep(recheck.tokens, folder) }
    return recheck.run.exitStatus
  }

  private func sent(_ run: RecheckRun) -> Int32 {
    let commands = run.commands.sorted()
    if isJSON {
      Terminal.out(JSON.object([JSON.Member("commands", .array(commands.map(JSON.string)))]).text)
    } else {
      commands.forEach { Terminal.out("sent \($0)") }
    }
    return 0
  }

  /// Before anybody is asked: an answer that cannot be kept would be lost.
  private static func prepare(_ folder: String) throws {
    try Home.makeFolder(folder)
    guard Folder.isFolder(folder) else { throw SystemError(ENOTDIR, doing: "keep tokens in", path: folder) }
    guard access(folder, W_OK | X_OK) == 0 else { throw SystemError.current("keep tokens in", folder) }
  }

  private func keep(_ tokens: [Name: String], _ folder: String) throws {
    for (name, token) in tokens { try Home.write(token + "\n", to: "\(folder)/\(name).jwt") }
  }
}

/// One line on standard error that is written over; nothing where nobody looks.
final class ProgressLine {
  /// Milliseconds between two of them: a thousand answers a second are more than an eye can follow.
  private static let pause: Int64 = 100
  private let isOn: Bool
  private var last = ""
  private var next: Int64 = 0

  init(isOn: Bool) { self.isOn = isOn && Terminal.isScreen(2) }

  func show(_ text: () -> String) {
    guard isOn, Clock.boottimeMilliseconds >= next else { return }
    next = Clock.boottimeMilliseconds + Self.pause
    let text = text()
    guard text != last else { return }
    last = text
    write("\r\u{1B}[K\(text.prefix(Terminal.width - 1))")
  }

  func clear() {
    guard isOn, !last.isEmpty else { return }
    write("\r\u{1B}[K")
  }

  private func write(_ text: String) {
    let bytes = Array(text.utf8)
    _ = Glibc.write(2, bytes, bytes.count)
  }
}
