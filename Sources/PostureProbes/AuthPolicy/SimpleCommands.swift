/// The simple commands of a command line, those of a shell within it too, without the programs that only start another:
/// `pkill x && sh -c "nohup y -z"` is `pkill x` and `y -z`.
enum SimpleCommands {
  private static let shells: Set = ["sh", "bash", "dash", "ash", "zsh"]
  private static let wrappers: Set = [
    "exec", "command", "env", "nohup", "setsid", "busybox", "uwsm", "uwsm-app", "dbus-run-session", "dbus-launch",
    "plasma-dbus-run-session-if-needed",
  ]
  /// Nobody nests shells deeper.
  private static let deepest = 4

  static func of(_ text: String, variables: [String: String] = [:]) -> [[String]] {
    of(text, variables, deepest)
  }

  static func of(_ words: [String]) -> [[String]] { of(words, [:], deepest) }

  private static func of(_ text: String, _ variables: [String: String], _ depth: Int) -> [[String]] {
    ShellScript(text, [], variables: variables).commands.flatMap { of($0.words, variables, depth) }
  }

  private static func of(_ words: [String], _ variables: [String: String], _ depth: Int) -> [[String]] {
    let words = unwrapped(words)
    guard depth > 0, let program = words.first, shells.contains(Programs.base(program)),
      let option = words.firstIndex(where: { $0.hasPrefix("-") && $0.ends(with: "c") }), option + 1 < words.count
    else { return words.isEmpty ? [] : [words] }
    return of(words[option + 1], variables, depth - 1)
  }

  /// `env A=b`, `setsid -f`, `uwsm app --`, `uwsm start -e -D` taken off.
  private static func unwrapped(_ words: [String]) -> [String] {
    var rest = words[...]
    while let first = rest.first.map(Programs.base), wrappers.contains(first) {
      let verbs = first == "uwsm" ? ["app", "start"] : []
      rest = rest.dropFirst().drop { $0.hasPrefix("-") || $0.contains("=") || verbs.contains($0) }
    }
    return Array(rest)
  }
}
