public import PosturePlatform

/// A folder of a test's own.
public enum TemporaryFolder {
  /// Makes one for the time of `body`, and removes it with all that is in it.
  public static func with<Result>(_ body: (String) throws -> Result) throws -> Result {
    let path = try make()
    defer { remove(path) }
    return try body(path)
  }

  /// Makes one; the caller ends it with ``remove(_:)``.
  public static func make(in parent: String = "/tmp") throws(SystemError) -> String {
    try Directory.makeTemporary("posture-test", in: parent)
  }

  public static func remove(_ path: String) {
    _ = try? Command("/bin/rm", ["-rf", "--one-file-system", path]).run()
  }
}
