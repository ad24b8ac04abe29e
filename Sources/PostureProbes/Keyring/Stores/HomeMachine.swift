import Posture

/// What user records tell machines apart by.
struct HomeMachine: Hashable, Sendable {
  /// nil where a tree does not say.
  let id: String?
  let host: String?

  /// What the record keeps for this machine alone. Where the tree does not say which it is, the only one there is.
  func binding(_ bindings: [JSON.Member]) -> JSON? {
    if let id { return bindings.last { $0.name == id }?.value }
    return bindings.count == 1 ? bindings[0].value : nil
  }

  /// Whether a section of `perMachine` means it; nil where that cannot be told.
  func matches(_ section: JSON) -> Bool? {
    let answers = [matches(section["matchMachineId"], id), matches(section["matchHostname"], host)]
    return answers.contains(true) ? true : answers.contains(nil) ? nil : false
  }

  private func matches(_ wanted: JSON?, _ own: String?) -> Bool? {
    guard let wanted else { return false }
    return own.map((wanted.array ?? [wanted]).compactMap(\.string).contains)
  }
}

extension HomeMachine {
  init(_ system: System) {
    let text = system.text("/etc/machine-id")?.trimmed ?? ""
    self.init(id: text.utf8.count == 32 ? text : nil, host: HostName(system).name)
  }
}
