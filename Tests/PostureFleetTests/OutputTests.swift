import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureFleet

/// Standard output that goes nowhere: lost on a full disk, or with a reader that left.
@Suite(.enabled(if: Broker.isInstalled)) struct OutputTests {
  /// The shell sees to where the output goes.
  private func run(_ script: String, _ program: String, _ words: [String]) throws -> Command.Output {
    var command = Command("/bin/bash", ["-c", script, "bash", Path.join(Repository.products, program)] + words)
    command.timeout = 60_000
    return try command.run()
  }

  private func expectLost(_ program: String, _ words: [String]) throws {
    let output = try run(#""$@" >/dev/full"#, program, words)
    let told = String(decoding: output.err, as: UTF8.self).split(separator: "\n")
    #expect(output.status == 70, "\(words)")
    #expect(
      told.filter { $0 == "\(program): standard output: No space left on device" }.count == 1, "\(words): \(told)")
  }

  @Test(arguments: [
    ["--help"], ["--version"], ["check", "--help"], ["check", "--json"], ["check", "--junit"], ["check"],
  ])
  func `the agent says that its output was lost`(_ words: [String]) throws {
    try TemporaryFolder.with { root in
      try expectLost("posture-agent", words.count > 1 ? words + ["--root", root] : words)
    }
  }

  @Test func `posturectl says that its output was lost`() throws {
    let site = try LiveSite()
    let device = try site.device("edge-1")
    device.change { $0 = .healthy }
    try device.start()
    let history = try SQLiteHistory(path: site.folder.file("history.db"))
    _ = try history.add(HistoryRemark(device: device.party.name, at: 1, by: "alice", kind: .acknowledged(why: "seen")))
    for words in [["--help"], ["--version"], ["watch", "--help"], ["explain", "--list"]] {
      try expectLost("posturectl", words)
    }
    for words in [
      ["sign", "--all"], ["sign", "--all", "--json"], ["show", "edge-1"], ["show", "edge-1", "--json"],
      ["trust", "show"], ["trust", "publish"], ["policy", "set", "stolen", "--no-publish"], ["watch", "--once"],
      ["watch"],
      ["history", "edge-1", "--history", site.folder.file("history.db")],
      ["recheck", "--device", "edge-1", "--wait", "--json"], ["broker", site.folder.file("node")],
    ] { try expectLost("posturectl", words + ["--home", site.home.folder]) }
    device.stop()
  }

  @Test func `what was under way is done although its output is lost`() throws {
    let site = try LiveSite()
    _ = try site.device("edge-1")
    try expectLost("posturectl", ["trust", "revoke", "edge-1", "--home", site.home.folder])
    let state = try IssuerDesk(site.home).state
    #expect(state.revokedKeys.map(\.name) == ["edge-1"])
    #expect(try site.retained("trust") == (try Home.read(text: site.home.path(Home.File.trust))))
  }

  @Test func `watch ends when its reader has left`() throws {
    let site = try LiveSite()
    let device = try site.device("edge-1")
    device.change { $0 = .healthy }
    try device.start()
    let output = try run(
      #"set -o pipefail; "$@" | head -n 1"#, "posturectl", ["watch", "--home", site.home.folder])
    #expect(output.status == 0)
    #expect(String(decoding: output.out, as: UTF8.self).contains(" edge-1 pass (entry)"))
    #expect(output.err.isEmpty)
    device.stop()
  }
}
