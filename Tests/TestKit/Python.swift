public import PosturePlatform

/// Debian's Python, with what Tests/run brought from PyPI.
public enum Python {
  private static let folder = Repository.path(".build/python")

  public static func command(_ words: [String]) -> Command {
    var command = Command("/usr/bin/python3", words)
    command.environment = ["PATH=/usr/bin:/bin:/usr/local/bin", "PYTHONPATH=\(folder)"]
    command.timeout = 60_000
    return command
  }

  public static func has(_ module: String) -> Bool {
    (try? command(["-c", "import \(module)"]).run().status) == 0
  }
}
