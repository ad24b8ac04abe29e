/// Kinds of public keys that sshd takes signatures of (PubkeyAcceptedAlgorithms).
struct SSHDAlgorithms: Hashable, Sendable {
  private let patterns: [String]
  private let addsToDefaults: Bool
  private let removesFromDefaults: Bool
  private let defaultsHaveDSA: Bool

  /// - Parameters:
  ///   - value: as it is written; nil for the defaults.
  ///   - defaultsHaveDSA: before 7.0.
  init(_ value: String? = nil, defaultsHaveDSA: Bool = false) {
    let sign = value?.first
    addsToDefaults = value == nil || sign == "+" || sign == "^"
    removesFromDefaults = sign == "-"
    let names = addsToDefaults || removesFromDefaults ? value?.dropFirst() : value?[...]
    patterns = (names ?? "").split(separator: ",").map(String.init)
    self.defaultsHaveDSA = defaultsHaveDSA
  }

  /// Whether a key of this type may sign in any of the ways that it can.
  func accept(_ type: String) -> Bool {
    let ways = type == "ssh-rsa" ? ["rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"] : [type]
    return ways.contains { way in
      let isNamed = patterns.contains { SSHDPatterns.text($0, way) }
      if removesFromDefaults { return isDefault(way) && !isNamed }
      return isNamed || (addsToDefaults && isDefault(way))
    }
  }

  private func isDefault(_ way: String) -> Bool { way != "ssh-dss" || defaultsHaveDSA }
}
