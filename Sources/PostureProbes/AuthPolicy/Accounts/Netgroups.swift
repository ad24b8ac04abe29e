/// netgroup(5): groups of hosts and users, as far as they are in a file.
struct Netgroups: Sendable {
  private enum Member: Sendable {
    /// nil: any; "-": none.
    case triple(host: String?, user: String?)
    case group(String)
  }

  private let groups: [String: [Member]]
  /// A directory may know further ones.
  private let hasOthers: Bool

  static let path = "/etc/netgroup"

  init(_ system: System, _ sources: [String], hasDirectory: Bool) {
    let text = sources.contains("files") ? system.text(Self.path) ?? "" : ""
    groups = Self.parse(text)
    hasOthers = hasDirectory || (sources.contains("nis") && system.exists("/etc/yp.conf"))
  }

  private static func parse(_ text: String) -> [String: [Member]] {
    var groups: [String: [Member]] = [:]
    for line in LogicalLines(text, comments: ["#"]) {
      let name = line.text.prefix { !$0.isWhitespace }
      if groups[String(name)] == nil { groups[String(name)] = members(line.text[name.endIndex...]) }
    }
    return groups
  }

  private static func members(_ text: Substring) -> [Member] {
    var members: [Member] = []
    var rest = text.drop(while: \.isWhitespace)
    while let first = rest.first {
      let end =
        first == "(" ? rest.firstIndex(of: ")") ?? rest.endIndex : rest.firstIndex { $0.isWhitespace || $0 == "(" }
      let word = rest[..<(end ?? rest.endIndex)]
      members.append(first == "(" ? triple(word.dropFirst()) : .group(String(word)))
      rest = rest[word.endIndex...].drop { $0.isWhitespace || $0 == ")" }
    }
    return members
  }

  private static func triple(_ text: Substring) -> Member {
    let fields = text.split(separator: ",", omittingEmptySubsequences: false).map(\.trimmed)
    func field(_ index: Int) -> String? { fields.count > index && !fields[index].isEmpty ? fields[index] : nil }
    return .triple(host: field(0), user: field(1))
  }

  /// innetgr(3); nil for `host` or `user` matches every one. nil: cannot be told.
  func contains(_ group: String, host: String? = nil, user: String? = nil) -> Bool? {
    var seen: Set<String> = []
    if holds(group, host, user, &seen) { return true }
    return hasOthers ? nil : false
  }

  private func holds(_ group: String, _ host: String?, _ user: String?, _ seen: inout Set<String>) -> Bool {
    guard seen.insert(group).inserted, let members = groups[group] else { return false }
    for member in members {
      switch member {
      case .triple(let theirHost, let theirUser):
        if Self.matches(theirHost?.lowercased(), host?.lowercased()), Self.matches(theirUser, user) { return true }
      case .group(let name): if holds(name, host, user, &seen) { return true }
      }
    }
    return false
  }

  private static func matches(_ field: String?, _ value: String?) -> Bool {
    guard let field, let value else { return true }
    return field == value
  }
}
