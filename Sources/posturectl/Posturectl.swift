import Glibc
import Posture
import PostureFleet
import PostureTerminal

/// One verb of the command line.
protocol Verb {
  static var name: String { get }
  /// One line for the list of verbs.
  static var summary: String { get }
  static var help: String { get }
  init(_ arguments: inout Arguments) throws(UsageError)
  /// Gives the exit status.
  func run() throws -> Int32
}

/// The command line of controllers and monitors.
enum Posturectl {
  static var verbs: [any Verb.Type] {
    [
      InitVerb.self, EnrollVerb.self, IssuerVerb.self, TrustVerb.self, RotateVerb.self, RecheckVerb.self,
      WatchVerb.self, ShowVerb.self, VerifyVerb.self,
      ExplainVerb.self, SignVerb.self, PolicyVerb.self, MonitorVerb.self, HistoryVerb.self, ExportVerb.self,
      AcknowledgeVerb.self, BrokerVerb.self,
    ]
  }

  static var usage: String {
    let width = verbs.map { verb in verb.name.count }.max() ?? 0
    let lines = verbs.map { verb in
      "  " + verb.name + String(repeating: " ", count: width - verb.name.count + 2) + verb.summary
    }
    return """
      posturectl: asks the devices of a site for their posture, watches them, and keeps their trust

      usage: posturectl VERB [OPTIONS]; posturectl VERB --help; posturectl --version

      \(lines.joined(separator: "\n"))

      The folder that `init` made is given by --home DIR or POSTURE_HOME.
      exit status: 0 done (acknowledge, export, history, recheck, show, trust show, verify: by the answer, see their
      help), 64 wrong usage, 69 broker not reachable, 70 anything else that failed
      """
  }

  /// EX_UNAVAILABLE.
  private static let unavailable: Int32 = 69

  static func run(_ words: [String]) -> Int32 {
    do { return try dispatch(words) } catch let error as UsageError {
      Terminal.error("posturectl: \(error). Try: posturectl --help")
      return ExitStatus.usage
    } catch let error as LinkError {
      Terminal.error("posturectl: \(error)")
      return unavailable
    } catch {
      Terminal.error("posturectl: \(error)")
      return ExitStatus.failed
    }
  }

  /// Says so, and gives the exit status for it.
  static func unknown(_ device: Name) -> Int32 {
    Terminal.error("posturectl: \(device): nothing is known of it")
    return 3
  }

  private static func dispatch(_ words: [String]) throws -> Int32 {
    var arguments = Arguments(words)
    if let name = arguments.verb() {
      guard let verb = verbs.first(where: { $0.name == name }) else { throw UsageError("unknown verb \(name)") }
      if arguments.flag("--help", "-h") {
        Terminal.out(verb.help)
        return 0
      }
      return try verb.init(&arguments).run()
    }
    if arguments.flag("--version") {
      Terminal.out("posturectl \(Release.version)")
    } else if arguments.flag("--help", "-h") {
      Terminal.out(usage)
    } else {
      throw UsageError("a verb is missing")
    }
    try arguments.end()
    return 0
  }
}

/// `--home DIR`, else POSTURE_HOME.
struct HomeOption {
  let folder: String

  init(_ arguments: inout Arguments) throws(UsageError) {
    let environment = getenv("POSTURE_HOME").map { String(cString: $0) }
    guard let folder = try arguments.option("--home") ?? environment, !folder.isEmpty else {
      throw UsageError("--home DIR is missing (or POSTURE_HOME)")
    }
    self.folder = folder
  }

  func open() throws(HomeError) -> Home { try Home.open(folder) }
}

extension Arguments {
  /// Every value of an option that names a device or a group.
  mutating func names(_ option: String) throws(UsageError) -> [Name] {
    var names: [Name] = []
    for text in try options(option) {
      guard let name = Name(text) else { throw UsageError("\(option) \(text): not a name") }
      names.append(name)
    }
    return names
  }

  mutating func name(_ option: String) throws(UsageError) -> Name? { try names(option).last }

  /// Days, in seconds.
  mutating func days(_ option: String) throws(UsageError) -> Int64? {
    try number(option, in: 1...3_650).map { Int64($0) * IssuerDesk.day }
  }
}
