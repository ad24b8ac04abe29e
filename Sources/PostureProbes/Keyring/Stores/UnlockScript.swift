import PosturePlatform

/// A script that may hand the login keyring its password, by the programs that it names.
struct UnlockScript: Hashable, Sendable {
  /// Where the password comes from.
  enum Source: Hashable, Sendable {
    /// systemd-creds(1) decrypts it: the paths that are named with it.
    case credential([String])
    /// The TPM itself.
    case tpm
    case unclear
  }

  let source: Source

  /// nil for one that unlocks no keyring.
  init?(_ text: String) {
    // What stands in substitutions and pipes is run as well: the words of a line, whatever is between them.
    let lines = LogicalLines(text, comments: ["#"]).prefix(Self.mostLines).map { line in
      line.text.split { " \t|;&()`\"'".contains($0) }.map(String.init)
    }
    let daemon = "gnome-keyring-daemon"
    func calls(_ program: String) -> [ArraySlice<String>] {
      lines.compactMap { line in line.firstIndex { Path.name(of: $0) == program }.map { line[$0...] } }
    }
    let unlocking: Set = ["--unlock", "--login", "-l"]
    guard calls(daemon).contains(where: { !unlocking.isDisjoint(with: $0) }) else { return nil }
    if let call = calls("systemd-creds").first(where: { $0.contains("decrypt") }) {
      source = .credential(call.prefix { Path.name(of: $0) != daemon }.filter { $0.hasPrefix("/") })
    } else {
      source = calls("tpm2_unseal").isEmpty ? .unclear : .tpm
    }
  }

  /// A start script is short; whatever is longer is none.
  private static let mostLines = 2_000
}
