import Posture

/// sshd_config(5) with its includes, before anything is matched.
struct SSHDConfiguration: Sendable {
  indirect enum Node: Sendable {
    case setting(Setting)
    /// The lines after a Match, to the next one or the end of the file.
    case block(SSHDCriteria, [Node])
    case included([Node])
  }

  struct Setting: Sendable {
    /// In lower case, aliases replaced.
    var keyword: String
    var values: [String]
    var place: Place
  }

  private(set) var nodes: [Node] = []
  /// Files that could not be read.
  private(set) var unreadable: [Cause] = []
  let file: String
  private let system: System
  private var budget = 20_000

  static let files = ["/etc/ssh/sshd_config", "/usr/etc/ssh/sshd_config", "/usr/local/etc/ssh/sshd_config"]

  /// `options` are what `-o` gave on the command line, which comes first.
  init(_ file: String, options: [String] = [], on system: System) {
    self.file = file
    self.system = system
    nodes = options.compactMap { Self.setting($0[...], Place(file)) }.map { .setting($0) } + read(file, depth: 0)
  }

  private static let depthLimit = 16

  private mutating func read(_ path: String, depth: Int) -> [Node] {
    let file: System.File
    do throws(System.Unreadable) { file = try system.read(path) } catch {
      // A file that an Include names and that is not there is no error.
      if error != .missing || depth == 0 {
        unreadable.append(Cause("unreadable", observed: "\(path) \(error.words)", evidence: [Place(path)]))
      }
      return []
    }
    var top: [Node] = []
    var block: (criteria: SSHDCriteria, nodes: [Node])?
    for (index, line) in file.text.lines(keepsEmpty: true).enumerated() {
      budget -= 1
      guard budget > 0, let setting = Self.setting(line, Place(path, line: index + 1)) else { continue }
      if setting.keyword == "match" {
        if let block { top.append(.block(block.criteria, block.nodes)) }
        block = (SSHDCriteria(setting.values), [])
        continue
      }
      let node = setting.keyword == "include" ? included(setting.values, depth) : .setting(setting)
      if block == nil { top.append(node) } else { block?.nodes.append(node) }
    }
    if let block { top.append(.block(block.criteria, block.nodes)) }
    return top
  }

  private mutating func included(_ patterns: [String], _ depth: Int) -> Node {
    guard depth < Self.depthLimit else { return .included([]) }
    let paths = patterns.flatMap { PathPattern.paths($0.hasPrefix("/") ? $0 : "/etc/ssh/" + $0, system) }
    return .included(paths.flatMap { read($0, depth: depth + 1) })
  }

  /// `Keyword value`, `Keyword=value`; nil for comments and lines that cannot be read.
  private static func setting(_ line: Substring, _ place: Place) -> Setting? {
    let text = line.trimmed
    guard let first = text.first, first != "#" else { return nil }
    let keyword = text.prefix { $0 != " " && $0 != "\t" && $0 != "=" }
    var rest = text[keyword.endIndex...].drop { $0 == " " || $0 == "\t" }
    if rest.first == "=" { rest = rest.dropFirst() }
    guard !keyword.isEmpty, let values = SSHDWords.split(rest) else { return nil }
    let name = keyword.lowercased().filter { $0 != "\"" }
    return Setting(keyword: aliases[name] ?? name, values: values, place: place)
  }

  private static let aliases = [
    "challengeresponseauthentication": "kbdinteractiveauthentication",
    "skeyauthentication": "kbdinteractiveauthentication",
    "dsaauthentication": "pubkeyauthentication",
    "rsaauthentication": "obsolete",
    "keepalive": "tcpkeepalive",
    "pubkeyacceptedkeytypes": "pubkeyacceptedalgorithms",
  ]

  // MARK: Evaluation

  /// Whether the values depend on who comes from where. What cannot be read may hold a Match too.
  var hasMatches: Bool { !unreadable.isEmpty || budget <= 0 || Self.hasMatches(nodes) }

  /// Whether it says which keys of its own sshd loads.
  var namesHostKeys: Bool { Self.globals(nodes).contains { $0.keyword == "hostkey" } }

  private static func hasMatches(_ nodes: [Node]) -> Bool {
    nodes.contains { node in
      switch node {
      case .setting: false
      case .block: true
      case .included(let inner): hasMatches(inner)
      }
    }
  }

  /// The values that hold for one person on one connection.
  func settings(for person: SSHDPerson, on connection: SSHDConnection) -> SSHDSettings {
    var result = SSHDSettings()
    collect(nodes, into: &result)
    var matched = SSHDSettings()
    collectBlocks(nodes, person, connection, into: &matched)
    result.override(with: matched)
    return result
  }

  private func collect(_ nodes: [Node], into result: inout SSHDSettings) {
    for node in nodes {
      switch node {
      case .setting(let setting): result.add(setting)
      case .included(let inner): collect(inner, into: &result)
      case .block: continue
      }
    }
  }

  private func collectBlocks(
    _ nodes: [Node], _ person: SSHDPerson, _ connection: SSHDConnection, into result: inout SSHDSettings
  ) {
    for node in nodes {
      switch node {
      case .setting: continue
      case .included(let inner): collectBlocks(inner, person, connection, into: &result)
      case .block(let criteria, let inner):
        guard let isMatched = criteria.matches(person, connection) else {
          result.isUndecided = true
          continue
        }
        if isMatched { collectAll(inner, person, connection, into: &result) }
      }
    }
  }

  /// Inside a block that matches, what stands there counts, and blocks of files included there where they match too.
  private func collectAll(
    _ nodes: [Node], _ person: SSHDPerson, _ connection: SSHDConnection, into result: inout SSHDSettings
  ) {
    for node in nodes {
      switch node {
      case .setting(let setting): result.add(setting)
      case .included(let inner): collectAll(inner, person, connection, into: &result)
      case .block: collectBlocks([node], person, connection, into: &result)
      }
    }
  }

  // MARK: Connections

  /// What it says sshd listens on.
  private var listenAddresses: [SSHDListenAddress] { values(of: "listenaddress").map(SSHDListenAddress.init) }

  /// 22 where it names none.
  private var ports: [Int] {
    let named = values(of: "port").compactMap { Int($0) } + listenAddresses.compactMap(\.port)
    return named.isEmpty ? [22] : named
  }

  /// The first value of each line outside of Match blocks.
  private func values(of keyword: String) -> [String] {
    Self.globals(nodes).filter { $0.keyword == keyword }.compactMap(\.values.first)
  }

  /// Settings outside of Match blocks.
  private static func globals(_ nodes: [Node]) -> [Setting] {
    nodes.flatMap { node -> [Setting] in
      switch node {
      case .setting(let setting): [setting]
      case .included(let inner): globals(inner)
      case .block: []
      }
    }
  }

  /// The connections that it tells apart; with `hasOtherPorts` what sshd listens on is said elsewhere too, so that any
  /// port and address may be one.
  func connections(hasOtherPorts: Bool = false) -> SSHDConnections {
    var global = SSHDSettings()
    collect(nodes, into: &global)
    var names = SSHDNames()
    names.collect(nodes)
    let addresses = listenAddresses
    let isAnywhere = hasOtherPorts || addresses.isEmpty || addresses.contains(where: \.isAny)
    var seen = Set<Int>()
    let ports = (ports + (hasOtherPorts ? names.ports : [])).filter { seen.insert($0).inserted }
    return SSHDConnections(
      names, looksUpNames: global.flag("usedns"), listening: isAnywhere ? nil : addresses.map(\.host),
      ports: ports)
  }
}

/// What Match and AllowUsers name beside users and groups, each once.
struct SSHDNames {
  /// Addresses and hosts that somebody comes from.
  private(set) var remote: [String] = []
  /// Addresses that they come to.
  private(set) var local: [String] = []
  private(set) var ports: [Int] = []
  private var seen = Set<SSHDCriteria.Pair>()

  mutating func collect(_ nodes: [SSHDConfiguration.Node]) {
    for node in nodes {
      switch node {
      case .included(let inner): collect(inner)
      case .block(let criteria, let inner):
        for pair in criteria.pairs { add(pair.name, Self.patterns(pair.value)) }
        collect(inner)
      case .setting(let setting) where setting.keyword == "allowusers" || setting.keyword == "denyusers":
        for value in setting.values {
          guard let at = value.lastIndex(of: "@") else { continue }
          add("address", Self.patterns(String(value[value.index(after: at)...])))
        }
      case .setting: continue
      }
    }
  }

  private mutating func add(_ name: String, _ patterns: [String]) {
    let name = name == "host" ? "address" : name
    let new = patterns.filter { seen.insert(SSHDCriteria.Pair(name: name, value: $0)).inserted }
    switch name {
    case "address": remote += new
    case "localaddress": local += new
    case "localport": ports += new.compactMap { Int($0) }
    default: break
    }
  }

  private static func patterns(_ list: String) -> [String] {
    list.split(separator: ",").map { String($0.drop { $0 == "!" }) }
  }
}
