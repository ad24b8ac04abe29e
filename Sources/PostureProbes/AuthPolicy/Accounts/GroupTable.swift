/// group(5): who is in what.
struct GroupTable: Sendable {
  private(set) var names: Set<String> = []
  private var nameOfID: [UInt32: String] = [:]
  private var groupsOfMember: [String: Set<String>] = [:]
  private(set) var failure: System.Unreadable?

  mutating func add(_ system: System, _ path: String) {
    do throws(System.Unreadable) {
      for row in try ColonTable(system, path).rows where row.fields.count >= 3 { add(row.fields) }
    } catch { if error != .missing { failure = failure ?? error } }
  }

  private mutating func add(_ fields: [String]) {
    guard !fields[0].hasPrefix("+"), !fields[0].hasPrefix("-"), let id = CNumber.unsigned(fields[2]) else { return }
    names.insert(fields[0])
    if nameOfID[id] == nil { nameOfID[id] = fields[0] }
    // Whoever stands in a second row of a name is a member too (getgrouplist(3)).
    for member in fields.dropFirst(3).joined(separator: ":").split(separator: ",") {
      groupsOfMember[member.trimmed, default: []].insert(fields[0])
    }
  }

  /// Further groups of a user, as a user record lists them.
  mutating func add(member: String, of groups: [String]) { groupsOfMember[member, default: []].formUnion(groups) }

  func groups(of name: String, primary: UInt32) -> Set<String> {
    var groups = groupsOfMember[name] ?? []
    if let own = nameOfID[primary] { groups.insert(own) }
    return groups
  }
}
