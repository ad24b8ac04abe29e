import Posture
import PostureAttester
import PosturePlatform
import PostureTerminal

/// `posture-agent status`: what the running agent says of itself.
struct StatusCommand {
  private let socket: String
  private let isJSON: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    socket = try DeviceOptions.configuration(&arguments, .socket).socket
    isJSON = arguments.flag("--json")
    try arguments.end()
  }

  func run() -> Int32 {
    do {
      var client = try AttesterClient(socket)
      switch try client.ask(.status, timeout: 10_000) {
      case .status(let status): show(status)
      case .failed(let code, let why): throw AttesterError(code, why)
      default: throw AttesterError(.internal, "an answer to another question")
      }
      return 0
    } catch {
      Terminal.error("posture-agent status: \(error)")
      return ExitStatus.failed
    }
  }

  private func show(_ status: JSON) {
    if isJSON { return Terminal.out(status.text) }
    var table = Table("WHAT", "VALUE")
    for member in status.members ?? [] { add(member.name, member.value, to: &table) }
    table.lines().forEach(Terminal.out)
  }

  /// Members of members as `outer.inner`.
  private func add(_ name: String, _ value: JSON, to table: inout Table) {
    guard let members = value.members else {
      return table.add(Table.Cell(name), Table.Cell(value.string ?? value.text))
    }
    for member in members { add("\(name).\(member.name)", member.value, to: &table) }
  }
}
