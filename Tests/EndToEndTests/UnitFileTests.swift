import Glibc
import PosturePlatform
import TestKit
import Testing

/// The units as they are installed: how much they leave open, by systemd's own reckoning.
struct UnitFileTests {
  private static let analyzer = "/usr/bin/systemd-analyze"
  private static let canAnalyze = access(analyzer, X_OK) == 0

  @Test(.enabled(if: canAnalyze, "no systemd-analyze"), arguments: [("posture-agent", 1.3), ("posture-attest", 2.0)])
  func `the exposure stays below its bound`(unit: String, bound: Double) throws {
    let path = Repository.path("deploy/systemd/\(unit).service")
    let output = try Command(Self.analyzer, ["security", "--offline=true", "--no-pager", path]).run()
    let text = String(decoding: output.out, as: UTF8.self)
    let last = try #require(text.split(separator: "\n").last { $0.contains("Overall exposure level") })
    let level = try #require(last.split(separator: " ").compactMap { Double($0) }.first)
    #expect(level <= bound, "\(last)")
  }

  /// What systemd says of a unit's directives.
  private func complaints(_ path: String, isOfUsers: Bool) throws -> [Substring] {
    try TemporaryFolder.with { runtime in
      var command = Command(Self.analyzer, (isOfUsers ? ["--user"] : []) + ["verify", "--man=no", path])
      command.environment.append("XDG_RUNTIME_DIR=\(runtime)")
      let output = try command.run()
      return String(decoding: output.err, as: UTF8.self).split(separator: "\n")
        .filter { $0.contains(path) || $0.contains("Unknown") || $0.contains("Failed") }
    }
  }

  /// Nothing is misspelt: systemd only warns, and would run the unit without its fence.
  @Test(
    .enabled(if: canAnalyze, "no systemd-analyze"),
    arguments: [
      "posture-agent.service", "posture-agent.path", "posture-enrolled.service", "posture-attest.service",
      "posture-attest.socket",
      "user/posture-session.service", "user/posture-session.socket",
    ])
  func `systemd knows every directive`(unit: String) throws {
    let path = Repository.path("deploy/systemd/\(unit)")
    let isOfUsers = unit.hasPrefix("user/")
    #expect(try complaints(path, isOfUsers: isOfUsers) == [])
    let copy = try Folder()
    let text = String(decoding: try AtomicFile.readAny(path), as: UTF8.self)
    let name = String(unit.split(separator: "/").last!)
    try copy.write(name, text + "\nNoSuchDirective=yes\n")
    #expect(try !complaints(copy.file(name), isOfUsers: isOfUsers).isEmpty)
  }
}
