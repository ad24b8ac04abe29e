import Posture

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

  /// Records of userdb(8): `GROUP.group`, and `USER:GROUP.membership`, whose name says all.
  mutating func addRecords(_ system: System) {
    let files = UserRecords.folders.map { folder in (folder, (try? system.list(folder)) ?? []) }
    for (folder, names) in files {
      // Links by number stand beside those by name.
      for name in names where name.ends(with: ".group") && Int(name.dropLast(6)) == nil {
        addRecord(system, "\(folder)/\(name)")
      }
    }
    for name in files.flatMap(\.1) where name.ends(with: ".membership") { addMembership(name.dropLast(11)) }
  }

  private mutating func addRecord(_ system: System, _ path: String) {
    guard let json = (try? system.read(path)).flatMap({ try? JSONParser.parse($0.bytes) }),
      let name = json["groupName"]?.string, let id = json["gid"]?.integer.flatMap(UInt32.init(exactly:))
    else { return }
    names.insert(name)
    if nameOfID[id] == nil { nameOfID[id] = name }
  }

  private mutating func addMembership(_ name: Substring) {
    let parts = name.split(separator: ":").map(String.init)
    guard parts.count == 2, names.contains(parts[1]) else { return }
    groupsOfMember[parts[0], default: []].insert(parts[1])
  }

  func groups(of name: String, primary: UInt32) -> Set<String> {
    var groups = groupsOfMember[name] ?? []
    if let own = nameOfID[primary] { groups.insert(own) }
    return groups
  }
}
