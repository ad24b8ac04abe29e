/// The connections that a configuration tells apart: one of each part that its patterns cut all connections into.
struct SSHDConnections: Sendable {
  /// What one side of a connection may be, and the pattern that it stands for; nil for what nothing names.
  private typealias Side<Value> = (value: Value, pattern: String?)

  /// The first is an ordinary one.
  let all: [SSHDConnection]
  /// There are more parts than are looked at.
  let isCut: Bool

  /// Each costs a whole evaluation for everybody.
  private static let limit = 64

  /// - Parameter listening: addresses that connections come to; nil for any.
  init(_ names: SSHDNames, looksUpNames: Bool, listening: [String]?, ports: [Int]) {
    let ordinary = SSHDConnection.ordinary
    let named = names.remote.filter { looksUpNames || Self.mayMatchAddress($0) }
    let patterns = named.prefix(Self.limit)
    let remote = Self.distinct([(ordinary.address, nil)] + patterns.flatMap(Self.addresses), patterns)
    let hosts: [Side<String?>] = [(nil, nil)] + (looksUpNames ? Self.hosts(patterns) : [])
    let own = names.local.prefix(Self.limit)
    let reached: [Side<String>] = (listening ?? [ordinary.localAddress]).map { ($0, nil) }
    let local = Self.distinct(reached + (listening == nil ? own.flatMap(Self.addresses) : []), own)
    var all: [SSHDConnection] = []
    search: for port in ports {
      let portPattern = names.ports.contains(port) ? "port \(port)" : nil
      for to in local {
        for host in hosts {
          for from in remote {
            guard all.count < Self.limit else { break search }
            let parts = [from.pattern, host.pattern, to.pattern, portPattern].compactMap { $0 }
            all.append(
              SSHDConnection(
                host: host.value ?? from.value, address: from.value, localAddress: to.value, localPort: port,
                pattern: parts.isEmpty ? nil : parts.joined(separator: ", ")))
          }
        }
      }
    }
    self.all = all
    isCut =
      patterns.count < named.count || own.count < names.local.count
      || all.count < remote.count * hosts.count * local.count * ports.count
  }

  /// Where names are not looked up only an address, as text, stands for one.
  private static func mayMatchAddress(_ pattern: String) -> Bool {
    pattern.utf8.allSatisfy { "0123456789abcdefABCDEF:.*?/".utf8.contains($0) }
  }

  /// Of addresses that all the same patterns match, one.
  private static func distinct(_ addresses: [Side<String>], _ patterns: ArraySlice<String>) -> [Side<String>] {
    var seen = Set<[Bool]>()
    return addresses.compactMap { address, own in
      let matches = patterns.map { SSHDPatterns.address($0, address) }
      guard seen.insert(matches).inserted else { return nil }
      return (address, own ?? zip(patterns, matches).first { $0.1 }?.0)
    }
  }

  private static func hosts(_ patterns: ArraySlice<String>) -> [Side<String?>] {
    let names = patterns.map { $0.lowercased() }
    var seen = Set<[Bool]>()
    return names.flatMap { name in fill(name).map { (host: $0, name: name) } }.compactMap { host, name in
      // sshd takes a name that is an address for none.
      guard host.contains(where: \.isLetter), !host.contains(":"),
        seen.insert(names.map { SSHDPatterns.text($0, host) }).inserted
      else { return nil }
      return (host, name)
    }
  }

  /// An address within what a pattern names, and the first behind it: networks lie within each other or apart, so that
  /// wherever they leave a gap, it begins with one of these.
  private static func addresses(of pattern: String) -> [Side<String>] {
    guard let network = IPNetwork(pattern) ?? IPNetwork(wildcard: pattern) else {
      return fill(pattern).filter { IPAddress($0) != nil }.map { ($0, pattern) }
    }
    return [(network.example.text, pattern)] + (network.following.map { [($0.text, nil)] } ?? [])
  }

  /// Texts that a pattern with wildcards matches.
  private static func fill(_ pattern: String) -> [String] {
    ["1", "2", "10", "200", ":1"].map { filler in
      pattern.replacing("*", with: filler).replacing("?", with: String(filler.suffix(1)))
    }
  }
}
