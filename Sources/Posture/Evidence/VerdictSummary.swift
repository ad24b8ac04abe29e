extension Evidence {
  /// The verdict with its policy and what that did not require: `pass (entry); not required: disk fail, elevation fail`.
  public func summary(_ policy: Policy) -> String {
    let waived = checks.filter { policy.demand(of: $0.name) == .inform && $0.result == .fail }
    let head = "\(verdict.rawValue) (\(policy.name))"
    guard !waived.isEmpty else { return head }
    return head + "; not required: "
      + waived.map { "\($0.name.rawValue) \($0.result.rawValue)" }.joined(separator: ", ")
  }
}
