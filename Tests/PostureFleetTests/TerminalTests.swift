import Glibc
import Posture
import PostureFleet
import PosturePlatform
import TestKit
import Testing

/// What a person sees who sits before it: the live table and the progress of a recheck, on a real terminal.
@Suite(.serialized, .enabled(if: Broker.isInstalled)) struct TerminalTests {
  /// Runs posturectl on a terminal of 80 columns.
  private func onTerminal(
    _ site: LiveSite, seconds: Int, keys: String, term: String = "xterm", _ words: String...
  ) throws -> (status: Int32, text: String) {
    var command = Command(
      "/usr/bin/python3",
      [
        Repository.path("Tests/terminal.py"), "80", "24", "\(seconds)", keys, "/usr/bin/env", "TERM=\(term)",
        Path.join(Repository.products, "posturectl"),
      ]
        + words + ["--home", site.home.folder])
    command.timeout = 60_000
    let output = try command.run()
    // A terminal writes the end of a line as two characters, which Swift reads as one of its own.
    let bytes = output.out.indices.filter { at in
      output.out[at] != 13 || at + 1 == output.out.count || output.out[at + 1] != 10
    }.map { output.out[$0] }
    return (output.status, String(decoding: bytes, as: UTF8.self))
  }

  /// The lines of each screen that was painted, without colours.
  private func screens(_ text: String) -> [[String]] {
    text.split(separator: "\u{1B}[H").dropFirst().map { screen in
      var (plain, isEscape) = ("", false)
      for character in screen.unicodeScalars {
        if character == "\u{1B}" {
          isEscape = true
        } else if isEscape {
          if character.properties.isAlphabetic { isEscape = false }
        } else if character != "\r" {
          plain.unicodeScalars.append(character)
        }
      }
      return plain.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
  }

  @Test func `the live table fits the terminal, follows the fleet, and ends with q`() throws {
    let site = try LiveSite()
    let name = "a-device-with-" + String(repeating: "quite-", count: 8) + "x"
    let devices = try [name, "edge-2"].map { try site.device($0, groups: ["lathe"]) }
    devices[0].change { $0 = MonitorTests.hostileFacts }
    devices[1].change { $0 = .healthy }
    for device in devices { try device.start() }
    let (status, text) = try onTerminal(site, seconds: 15, keys: "sq", "watch")
    #expect(status == 0)
    let screens = screens(text)
    #expect(screens.count >= 4)
    for screen in screens {
      #expect(screen.count <= 24)
      #expect(screen.allSatisfy { $0.count <= 80 }, "\(screen.filter { $0.count > 80 })")
    }
    let first = try #require(screens.first { $0.contains { $0.contains("edge-2") } })
    #expect(first.contains { $0.hasPrefix("a-device-with-q") && $0.contains("fail (entry)") })
    #expect(screens.last?.contains { $0.contains("order: name") } == true)
    // The other screen is left, the cursor is back.
    #expect(text.hasSuffix("\u{1B}[?1049l"))
    devices.forEach { $0.stop() }
  }

  @Test func `a terminal that knows no escape codes gets plain lines`() throws {
    let site = try LiveSite()
    let device = try site.device("edge-1")
    device.change { $0 = .healthy }
    try device.start()
    let watch = try onTerminal(site, seconds: 10, keys: "\u{3}", term: "dumb", "watch")
    #expect(watch.status == 0)
    #expect(watch.text.contains(" edge-1 pass (entry) online\n"))
    let recheck = try onTerminal(site, seconds: 10, keys: "", term: "dumb", "recheck", "--all", "--wait")
    #expect(recheck.status == 0)
    #expect(recheck.text.contains("\nedge-1  pass (entry)"))
    #expect(!(watch.text + recheck.text).contains("\u{1B}"))
    device.stop()
  }

  @Test func `without a terminal watch says each change in a line, for those that were chosen`() throws {
    let site = try LiveSite()
    let devices = try ["edge-1", "edge-2"].map { try site.device($0) }
    for device in devices {
      device.change { $0 = .healthy }
      try device.start()
    }
    let program = Path.join(Repository.products, "posturectl")
    let log = site.folder.file("watch")
    let watch = try RunningProcess(
      program, ["watch", "--filter", "edge-1", "--home", site.home.folder], log: log)
    func lines() -> [Substring] {
      String(decoding: (try? AtomicFile.readAny(log)) ?? [], as: UTF8.self).split(separator: "\n")
    }
    for _ in 0..<100 where lines().isEmpty { usleep(100_000) }
    devices[1].change { $0 = .open }
    devices[1].publishState()
    devices[0].change { $0 = .open }
    devices[0].publishState()
    for _ in 0..<100 where !(lines().last?.contains("fail") ?? false) { usleep(100_000) }
    watch.send(SIGTERM)
    #expect(watch.wait() == 0)
    #expect(lines().first?.contains(" edge-1 pass (entry) online") == true, "\(lines())")
    #expect(lines().last?.contains(" edge-1 fail (entry) online: openEntry alice: agetty") == true)
    #expect(lines().allSatisfy { !$0.contains("edge-2") && !$0.contains("\u{1B}") })
    func once(_ words: String...) throws -> [String] {
      var command = Command(program, ["watch", "--once", "--json", "--home", site.home.folder] + words)
      command.timeout = 30_000
      return try String(decoding: try command.run().out, as: UTF8.self).split(separator: "\n").map {
        try JSONParser.parse(String($0))["device"]?.string ?? ""
      }
    }
    #expect(try once("--sort", "name") == ["edge-1", "edge-2"])
    #expect(try once("--state", "pass") == [])
    #expect(try once("--filter", "EDGE-2") == ["edge-2"])
    devices.forEach { $0.stop() }
  }

  @Test func `a recheck shows how far it has come, and then the table`() throws {
    let site = try LiveSite()
    let devices = try ["edge-1", "edge-2", "edge-3"].map { try site.device($0, groups: ["lathe"]) }
    for device in devices {
      device.change { $0 = .healthy }
      try device.start()
    }
    devices[1].refuse(.rateLimited)
    devices[2].ignore()
    usleep(300_000)
    let (status, text) = try onTerminal(
      site, seconds: 20, keys: "", "recheck", "--group", "lathe", "--wait", "--timeout", "3", "--spread", "1")
    #expect(status == 4)
    #expect(text.contains("\r\u{1B}[K"), "no progress line")
    #expect(text.contains("answered 1 of 3, refused 1 (rateLimited 1), waiting 1"), "\(text)")
    #expect(text.contains("answered 1 of 3, refused 1 (rateLimited 1), silent 1"))
    for line in ["edge-1", "edge-2", "edge-3"] { #expect(text.contains("\n\(line) "), "\(line)") }
    devices.forEach { $0.stop() }
  }
}
