import Posture

/// Reads the lines of sudoers(5). A line with an error is passed over, as sudo does it since 1.9.3.
struct SudoersParser {
  private(set) var sudoers = Sudoers()
  private(set) var problems: [SudoersSource.Problem] = []
  private var aliases = SudoersAliases()

  /// What `source` says, and the lines that cannot be read.
  static func parse(_ source: SudoersSource) -> (Sudoers, [SudoersSource.Problem]) {
    var parser = SudoersParser()
    for line in source.lines { parser.add(line) }
    return (parser.aliases.expand(parser.sudoers), parser.problems)
  }

  private mutating func add(_ line: SudoersSource.Line) {
    var scanner = SudoersScanner(line.bytes)
    scanner.skipBlanks()
    if scanner.isAtEnd { return }
    do throws(SudoersSyntaxError) { try entry(&scanner, line.place) } catch {
      problems.append(
        SudoersSource.Problem(
          code: "sudoersSyntax", observed: "column \(error.column + 1): \(Self.shown(line.bytes))", place: line.place))
    }
  }

  /// The text of a line, short enough to be shown.
  private static func shown(_ bytes: [UInt8]) -> String {
    let words = Array(bytes.split { SudoersScanner.isBlank($0) }.joined(separator: [0x20]))
    return String(String(decoding: words, as: UTF8.self).prefix(160))
  }

  private mutating func entry(_ scanner: inout SudoersScanner, _ place: Place) throws(SudoersSyntaxError) {
    if scanner.bytes[scanner.at...].starts(with: "Defaults".utf8) {
      let next = scanner.at + 8
      if next >= scanner.bytes.count || SudoersScanner.isBlank(scanner.bytes[next])
        || ":@>!".utf8.contains(scanner.bytes[next])
      {
        scanner.skip(8)
        return try defaults(&scanner, place)
      }
    }
    if let kind = SudoersAliases.Kind.take(&scanner) { return try aliases.read(kind, &scanner) }
    try rules(&scanner, place)
  }

  // MARK: Rules

  private mutating func rules(_ scanner: inout SudoersScanner, _ place: Place) throws(SudoersSyntaxError) {
    let users = try Self.list(&scanner) { (s) throws(SudoersSyntaxError) in try s.user() }
    var found: [Sudoers.Rule] = []
    repeat {
      scanner.skipBlanks()
      let hosts = try Self.list(&scanner) { (s) throws(SudoersSyntaxError) in try s.host() }
      try scanner.expect("=")
      found.append(
        Sudoers.Rule(
          users: users, hosts: hosts, grants: try SudoersGrants.read(&scanner), place: place,
          text: Self.shown(scanner.bytes)))
    } while scanner.takeSpaced(":")
    scanner.skipBlanks()
    guard scanner.isAtEnd else { throw scanner.failure }
    sudoers.rules += found
  }

  /// Items with commas between them.
  static func list(
    _ scanner: inout SudoersScanner,
    _ item: (inout SudoersScanner) throws(SudoersSyntaxError) -> Sudoers.Name
  ) throws(SudoersSyntaxError) -> [Sudoers.Item] {
    var items: [Sudoers.Item] = []
    repeat {
      scanner.skipBlanks()
      let isNegated = scanner.negation()
      items.append(Sudoers.Item(name: try item(&scanner), isNegated: isNegated))
    } while scanner.takeSpaced(",")
    return items
  }

  // MARK: Defaults

  private mutating func defaults(_ scanner: inout SudoersScanner, _ place: Place) throws(SudoersSyntaxError) {
    let scope = try Self.scope(&scanner)
    var found: [Sudoers.Setting] = []
    repeat {
      scanner.skipBlanks()
      let isNegated = scanner.negation()
      let name = try scanner.word(until: "=,+-!#")
      let value = try Self.value(&scanner)
      if Sudoers.Setting.relevant.contains(name), value?.isChange != true {
        found.append(
          Sudoers.Setting(scope: scope, name: name, value: value?.text, isOn: !isNegated, place: place))
      }
    } while scanner.takeSpaced(",")
    scanner.skipBlanks()
    guard scanner.isAtEnd else { throw scanner.failure }
    sudoers.settings += found
  }

  private static func scope(_ scanner: inout SudoersScanner) throws(SudoersSyntaxError) -> Sudoers.Setting.Scope {
    if scanner.take(":") { return .users(try list(&scanner) { (s) throws(SudoersSyntaxError) in try s.user() }) }
    if scanner.take("@") { return .hosts(try list(&scanner) { (s) throws(SudoersSyntaxError) in try s.host() }) }
    if scanner.take(">") { return .runas(try list(&scanner) { (s) throws(SudoersSyntaxError) in try s.user() }) }
    if scanner.take("!") {
      return .commands(
        try list(&scanner) { (s) throws(SudoersSyntaxError) in try s.command(hasArguments: false) })
    }
    return .everybody
  }

  /// What follows the name: `= value`, `+= value`, `-= value` or nothing.
  private static func value(
    _ scanner: inout SudoersScanner
  ) throws(SudoersSyntaxError) -> (text: String, isChange: Bool)? {
    scanner.skipBlanks()
    let isChange = scanner.take("+") || scanner.take("-")
    guard scanner.take("=") else {
      if isChange { throw scanner.failure }
      return nil
    }
    scanner.skipBlanks()
    return (try scanner.word(until: ",#"), isChange)
  }
}
