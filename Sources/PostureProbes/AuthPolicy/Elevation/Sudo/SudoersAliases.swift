/// The aliases of sudoers(5), which may be used before they are defined.
struct SudoersAliases {
  enum Kind: String, CaseIterable {
    case user = "User_Alias"
    case runas = "Runas_Alias"
    case host = "Host_Alias"
    case command = "Cmnd_Alias"
    case commandToo = "Cmd_Alias"

    /// The keyword at the start of a line; consumed if it is one.
    static func take(_ scanner: inout SudoersScanner) -> Kind? {
      let rest = scanner.bytes[scanner.at...]
      guard
        let kind = allCases.first(where: { kind in
          let end = rest.startIndex + kind.rawValue.utf8.count
          return rest.starts(with: kind.rawValue.utf8) && end < rest.endIndex && SudoersScanner.isBlank(rest[end])
        })
      else { return nil }
      scanner.skip(kind.rawValue.utf8.count)
      return kind
    }
  }

  /// Names of each kind are kept apart: one name may stand for users and for commands.
  private enum Space: Hashable { case user, runas, host, command }
  private struct Key: Hashable {
    var space: Space
    var name: String
  }

  private var members: [Key: [Sudoers.Item]] = [:]

  /// `NAME = items : NAME = items`.
  mutating func read(_ kind: Kind, _ scanner: inout SudoersScanner) throws(SudoersSyntaxError) {
    repeat {
      scanner.skipBlanks()
      let name = scanner.upperWord()
      guard let first = name.utf8.first, first >= UInt8(ascii: "A"), name != "ALL" else { throw scanner.failure }
      scanner.skip(name.utf8.count)
      try scanner.expect("=")
      let items = try Self.items(kind, &scanner)
      let key = Key(space: Self.space(kind), name: name)
      // The second definition of a name is an error; the first one stands.
      guard members[key] == nil else { throw scanner.failure }
      members[key] = items
    } while scanner.takeSpaced(":")
    scanner.skipBlanks()
    guard scanner.isAtEnd else { throw scanner.failure }
  }

  private static func space(_ kind: Kind) -> Space {
    switch kind {
    case .user: .user
    case .runas: .runas
    case .host: .host
    case .command, .commandToo: .command
    }
  }

  private static func items(
    _ kind: Kind, _ scanner: inout SudoersScanner
  ) throws(SudoersSyntaxError) -> [Sudoers.Item] {
    switch space(kind) {
    case .user, .runas: try SudoersParser.list(&scanner) { (s) throws(SudoersSyntaxError) in try s.user() }
    case .host: try SudoersParser.list(&scanner) { (s) throws(SudoersSyntaxError) in try s.host() }
    case .command: try SudoersParser.list(&scanner) { (s) throws(SudoersSyntaxError) in try s.command() }
    }
  }

  // MARK: Expansion

  /// Aliases of aliases of aliases must not grow without bound.
  private static let itemLimit = 20_000

  func expand(_ sudoers: Sudoers) -> Sudoers {
    var result = sudoers
    for index in result.rules.indices {
      result.rules[index].users = expand(result.rules[index].users, .user)
      result.rules[index].hosts = expand(result.rules[index].hosts, .host)
      result.rules[index].grants = result.rules[index].grants.flatMap(expand)
    }
    for index in result.settings.indices {
      result.settings[index].scope = expand(result.settings[index].scope)
    }
    return result
  }

  private func expand(_ scope: Sudoers.Setting.Scope) -> Sudoers.Setting.Scope {
    switch scope {
    case .everybody: .everybody
    case .users(let items): .users(expand(items, .user))
    case .hosts(let items): .hosts(expand(items, .host))
    case .runas(let items): .runas(expand(items, .runas))
    case .commands(let items): .commands(expand(items, .command))
    }
  }

  private func expand(_ grant: Sudoers.Grant) -> [Sudoers.Grant] {
    var grant = grant
    grant.runasUsers = grant.runasUsers.map { expand($0, .runas) }
    grant.runasGroups = grant.runasGroups.map { expand($0, .runas) }
    return expand([grant.command], .command).map { command in
      var one = grant
      one.command = command
      return one
    }
  }

  private func expand(_ items: [Sudoers.Item], _ space: Space) -> [Sudoers.Item] {
    var result: [Sudoers.Item] = []
    var open = Set<String>()
    add(items, space, isNegated: false, open: &open, to: &result)
    return result
  }

  private func add(
    _ items: [Sudoers.Item], _ space: Space, isNegated: Bool, open: inout Set<String>, to result: inout [Sudoers.Item]
  ) {
    for item in items where result.count < Self.itemLimit {
      guard case .alias(let name) = item.name, let inner = members[Key(space: space, name: name)] else {
        result.append(
          Sudoers.Item(name: Self.plain(item.name, space), isNegated: item.isNegated != isNegated))
        continue
      }
      // An alias within itself matches nothing.
      guard open.insert(name).inserted else { continue }
      add(inner, space, isNegated: item.isNegated != isNegated, open: &open, to: &result)
      open.remove(name)
    }
  }

  /// A name in capitals that no alias has is the name of a user or a host.
  private static func plain(_ name: Sudoers.Name, _ space: Space) -> Sudoers.Name {
    guard case .alias(let text) = name else { return name }
    switch space {
    case .user, .runas: return .user(text)
    case .host: return .host(text)
    case .command: return .command(text)
    }
  }
}
