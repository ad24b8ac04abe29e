import Glibc
import PosturePlatform

/// A folder of this run, removed at its end. What a run left that was killed, the next one removes.
final class WorkFolder {
  let path: String

  private static let base = "/var/tmp"
  private static let stem = "posture-bench."

  init() throws(BenchError) {
    Self.sweep()
    do throws(SystemError) { path = try Directory.makeTemporary("\(Self.stem)\(getpid())", in: Self.base) } catch {
      throw BenchError("cannot make a folder in \(Self.base)")
    }
    // Programs that give up their rights have to get through.
    chmod(path, 0o755)
  }

  deinit { Self.remove(path) }

  func file(_ name: String) -> String { Path.join(path, name) }

  private static func sweep() {
    for name in (try? Directory.names(in: base)) ?? [] where name.hasPrefix(stem) {
      guard let owner = Int32(name.dropFirst(stem.count).prefix { $0 != "." }), kill(owner, 0) != 0, errno == ESRCH
      else { continue }
      remove(Path.join(base, name))
    }
  }

  private static func remove(_ path: String) { _ = try? Command("/bin/rm", ["-rf", path]).run() }
}
