/// Groups by number.
struct GroupNumbers: Sendable {
  private let names: [UInt32: String]

  /// Those of the examined system, read once in an examination.
  static func of(_ system: System) -> GroupNumbers { system.shared { GroupNumbers(system) } }

  init(_ system: System) {
    var names: [UInt32: String] = [:]
    for row in (system.text("/etc/group") ?? "").lines() {
      let fields = row.split(separator: ":", omittingEmptySubsequences: false)
      guard fields.count >= 3, let gid = UInt32(fields[2]), names[gid] == nil else { continue }
      names[gid] = String(fields[0])
    }
    self.names = names
  }

  /// Whether somebody with this account, or from a directory, is a member; nil where that cannot be told.
  func hasMember(_ account: Account?, _ gid: UInt32) -> Bool? {
    guard let account else { return names[gid] == nil ? nil : false }
    return gid == account.gid || (names[gid].map(account.isMember) ?? false)
  }
}
