/// Who comes in, as far as sshd_config(5) asks.
struct SSHDPerson: Sendable {
  var name: String
  /// Of somebody from a directory: nil, cannot be told.
  var groups: Set<String>?
}

/// The conditions of a Match line, all of which have to hold.
struct SSHDCriteria: Sendable {
  struct Pair: Hashable, Sendable {
    /// In lower case.
    var name: String
    var value: String
  }

  let pairs: [Pair]

  init(_ words: [String]) {
    var pairs: [Pair] = []
    var rest = words[...]
    while let word = rest.popFirst() {
      let name = word.lowercased()
      if let equals = name.firstIndex(of: "=") {
        pairs.append(
          Pair(name: String(name[..<equals]), value: String(word[word.index(after: word.firstIndex(of: "=")!)...])))
      } else if name == "all" || name == "invalid-user" {
        pairs.append(Pair(name: name, value: ""))
      } else {
        pairs.append(Pair(name: name, value: rest.popFirst() ?? ""))
      }
    }
    self.pairs = pairs
  }

  /// nil where one cannot be told and the others hold.
  func matches(_ person: SSHDPerson, _ connection: SSHDConnection) -> Bool? {
    let answers = pairs.map { holds($0, person, connection) }
    if answers.contains(false) { return false }
    return answers.contains(nil) ? nil : true
  }

  private func holds(_ pair: Pair, _ person: SSHDPerson, _ connection: SSHDConnection) -> Bool? {
    switch pair.name {
    case "all": return true
    case "invalid-user": return false
    case "user": return SSHDPatterns.list(pair.value) { SSHDPatterns.text($0, person.name) } == .yes
    case "group": return person.groups.map { SSHDPatterns.groups(pair.value, $0) }
    case "host":
      return SSHDPatterns.list(pair.value.lowercased()) {
        SSHDPatterns.text($0, connection.host.lowercased())
      } == .yes
    case "address": return SSHDPatterns.list(pair.value) { SSHDPatterns.address($0, connection.address) } == .yes
    case "localaddress":
      return SSHDPatterns.list(pair.value) { SSHDPatterns.address($0, connection.localAddress) } == .yes
    case "localport": return Int(pair.value) == connection.localPort
    default: return nil
    }
  }
}
