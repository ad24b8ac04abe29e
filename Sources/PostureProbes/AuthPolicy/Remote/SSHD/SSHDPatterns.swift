/// Lists of patterns as sshd compares them (ssh_config(5), "PATTERNS").
enum SSHDPatterns {
  enum Match { case yes, denied, no }

  /// Patterns with commas between them; one with `!` that matches denies, wherever it stands.
  static func list(_ text: String, _ matches: (String) -> Bool) -> Match {
    var result = Match.no
    for pattern in text.split(separator: ",") {
      if pattern.hasPrefix("!") {
        if matches(String(pattern.dropFirst())) { return .denied }
      } else if matches(String(pattern)) {
        result = .yes
      }
    }
    return result
  }

  static func text(_ pattern: String, _ text: String) -> Bool {
    ShellPattern(pattern, hasClasses: false).matches(text)
  }

  /// A wildcard over the address as text, or a network.
  static func address(_ pattern: String, _ address: String) -> Bool {
    if pattern.contains("/"), let network = IPNetwork(pattern) {
      return IPAddress(address)?.isWithin(network) ?? false
    }
    if let one = IPAddress(pattern), let other = IPAddress(address) { return one == other }
    return text(pattern.lowercased(), address.lowercased())
  }

  /// Any one of a person's groups.
  static func groups(_ list: String, _ groups: Set<String>) -> Bool {
    var found = false
    for group in groups {
      switch Self.list(list, { text($0, group) }) {
      case .denied: return false
      case .yes: found = true
      case .no: break
      }
    }
    return found
  }

  /// `user` or `user@host` of AllowUsers and DenyUsers.
  static func user(_ pattern: String, _ name: String, _ connection: SSHDConnection) -> Bool {
    guard let at = pattern.lastIndex(of: "@") else { return text(pattern, name) }
    let host = String(pattern[pattern.index(after: at)...])
    guard text(String(pattern[..<at]), name) else { return false }
    return list(host) { address($0, connection.address) || text($0.lowercased(), connection.host.lowercased()) } == .yes
  }
}

/// From where somebody comes, and where to: what Match blocks look at beside the user.
struct SSHDConnection: Hashable, Sendable {
  var host: String
  var address: String
  var localAddress: String
  var localPort: Int
  /// The pattern that it stands for; nil for a connection that nothing names.
  var pattern: String?

  /// Addresses that are reserved for documentation (RFC 5737).
  static let ordinary = SSHDConnection(
    host: "192.0.2.1", address: "192.0.2.1", localAddress: "192.0.2.2", localPort: 22, pattern: nil)

  /// What `sshd -C` is told of it.
  func specification(for user: String) -> String {
    "user=\(user),host=\(host),addr=\(address),laddr=\(localAddress),lport=\(localPort)"
  }
}
