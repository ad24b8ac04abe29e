import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// What a fleet of either kind does when it is told to.
protocol FleetWork {
  init(_ kits: [DeviceKit], in home: Home) throws(BenchError)
  func connect(to port: UInt16) throws(BenchError)
  /// Keys, presence and report of each, until the broker has them all.
  func publishState() throws(BenchError)
  /// What went otherwise than it should have.
  var fault: String? { get }
}

/// One process of a simulated fleet: a connection takes three descriptors, of which a process has not as many as it likes.
/// It obeys words on standard input and says when each is done.
enum FleetShare {
  static let verb = "fleet-share"

  enum Word: String {
    case made, connect, publish, fault
  }

  static func arguments(_ home: Home, _ numbers: ClosedRange<Int>, isFloor: Bool) -> [String] {
    [verb, "--home", home.folder, "--first", "\(numbers.lowerBound)", "--last", "\(numbers.upperBound)"]
      + (isFloor ? ["--floor"] : [])
  }

  static func run(_ arguments: inout Arguments) throws(UsageError) -> Int32 {
    let folder = try arguments.option("--home") ?? ""
    let first = try arguments.number("--first", in: 1...1_000_000) ?? 1
    let last = try arguments.number("--last", in: first...1_000_000) ?? first
    let kind: any FleetWork.Type = arguments.flag("--floor") ? BareFleet.self : SimulatedFleet.self
    try arguments.end()
    do {
      let home = try Home.open(folder)
      let fleet = try kind.init(try DeviceKit.make(first...last, in: home), in: home)
      try obey(fleet, home)
      return 0
    } catch {
      Terminal.out("\(error)")
      return ExitStatus.failed
    }
  }

  private static func obey(_ fleet: any FleetWork, _ home: Home) throws(BenchError) {
    Terminal.out(Word.made.rawValue)
    while let line = readLine() {
      switch Word(rawValue: line) {
      case .connect: try fleet.connect(to: home.settings.devicePort)
      case .publish: try fleet.publishState()
      case .fault:
        Terminal.out(fleet.fault ?? line)
        continue
      case .made, nil: throw BenchError("an unknown word: \(line)")
      }
      Terminal.out(line)
    }
  }
}
