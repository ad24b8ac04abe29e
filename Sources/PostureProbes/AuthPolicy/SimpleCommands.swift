/// The simple commands of a command line, those of a shell within it too, without the programs that only start another:
/// `pkill x && sh -c "nohup y -z"` is `pkill x` and `y -z`.
enum SimpleCommands {
  static let shells: Set = ["sh", "bash", "dash", "ash", "zsh"]
  private static let wrappers: Set = [
    "exec", "command", "env", "nohup", "setsid", "busybox", "uwsm", "uwsm-app", "dbus-run-session", "dbus-launch",
    "plasma-dbus-run-session-if-needed",
  ]
  /// What runs a program as somebody else, with those of its options that take a value.
  private static let substitutes: [String: Set<String>] = [
    "sudo": ["-u", "-g", "-h", "-p", "-C", "-T", "-D", "-R", "-r", "-t"], "doas": ["-u", "-C", "-a"],
    "runuser": ["-u", "-g", "-G"], "chpst": ["-u", "-U", "-b", "-e", "-n", "-l", "-L", "-/"], "nice": ["-n"],
    "ionice": ["-c", "-n"], "chrt": ["-T", "-P", "-D"],
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
    guard depth > 0, let program = words.first.map(Programs.base),
      shells.contains(program) || program == "su" || program == "runuser",
      let option = words.firstIndex(where: { $0.hasPrefix("-") && $0.ends(with: "c") }), option + 1 < words.count
    else { return words.isEmpty ? [] : [words] }
    return of(words[option + 1], variables, depth - 1)
  }

  /// `env A=b`, `setsid -f`, `uwsm app --`, `uwsm start -e -D` taken off.
  private static func unwrapped(_ words: [String]) -> [String] {
    var rest = words[...]
    while let first = rest.first.map(Programs.base) {
      if let values = substitutes[first], first != "runuser" || rest.contains("-u") {
        rest = TerminalReader.afterOptions(Array(rest.dropFirst()), withValues: values)[...]
        continue
      }
      guard wrappers.contains(first) else { break }
      let verbs = first == "uwsm" ? ["app", "start"] : []
      rest = rest.dropFirst().drop { $0.hasPrefix("-") || $0.contains("=") || verbs.contains($0) }
    }
    return Array(rest)
  }
}
