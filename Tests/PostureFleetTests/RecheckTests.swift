import Glibc
import Posture
import PostureFleet
import PosturePlatform
import PostureTokens
import TestKit
import Testing

/// The command line against a real broker and devices with real keys.
@Suite(.serialized, .enabled(if: Broker.isInstalled)) struct RecheckTests {
  private func text(_ output: Command.Output) -> String { String(decoding: output.out, as: UTF8.self) }

  @Test func `recheck tells what became of each device, and its exit status`() throws {
    let site = try LiveSite()
    let devices = try ["edge-1", "edge-2", "edge-3"].map { try site.device($0, groups: ["lathe"]) }
    for device in devices {
      device.change { $0 = .healthy }
      try device.start()
    }
    let good = try site.posturectl("recheck", "--all", "--wait", "--json")
    #expect(good.status == 0, "\(text(good)) \(String(decoding: good.err, as: UTF8.self))")
    let json = try JSONParser.parse(text(good))
    #expect(json["answered"]?.integer == 3)

    devices[1].change { $0 = .open }
    let failed = try site.posturectl("recheck", "--group", "lathe", "--wait")
    #expect(failed.status == 1)
    #expect(text(failed).contains("openEntry alice: agetty --autologin alice"))

    devices[0].refuse(.busy)
    let refused = try site.posturectl("recheck", "--device", "edge-1", "--wait", "--json")
    #expect(refused.status == 3)
    #expect(text(refused).contains("\"code\":\"busy\""))

    devices[2].stop()
    usleep(300_000)
    let silent = try site.posturectl("recheck", "--device", "edge-3", "--wait", "--timeout", "2", "--json")
    #expect(silent.status == 4)
    #expect(text(silent).contains("not connected"))
    let nobody = try site.posturectl("recheck", "--group", "nobody", "--wait", "--timeout", "1")
    #expect(nobody.status == 4)
    devices.forEach { $0.stop() }
  }

  @Test func `twenty rechecks of one identity at once are all answered, and nobody is taken over`() throws {
    let site = try LiveSite()
    let device = try site.device("edge-1")
    device.change { $0 = .healthy }
    try device.start()
    let program = Path.join(Repository.products, "posturectl")
    var answered = 0
    for round in 0..<3 {
      let runs = try (0..<20).map { number in
        try RunningProcess(
          program, ["recheck", "--device", "edge-1", "--wait", "--json", "--home", site.home.folder],
          log: site.folder.file("run-\(round)-\(number)"))
      }
      answered += runs.count { $0.wait(60_000) == 0 }
    }
    #expect(answered == 60)
    #expect(!site.brokerLog.contains("already connected"))
    device.stop()
  }

  @Test func `watch, show and verify say what the device said`() throws {
    let site = try LiveSite()
    let device = try site.device("edge-1")
    device.change { $0 = .open }
    try device.start()
    usleep(300_000)
    let watch = try site.posturectl("watch", "--once")
    #expect(watch.status == 0)
    #expect(text(watch).contains("edge-1") && text(watch).contains("fail"))
    #expect(text(watch).split(separator: "\n").allSatisfy { $0.count <= 80 })
    let show = try site.posturectl("show", "edge-1")
    #expect(show.status == 1)
    #expect(text(show).contains("/etc/x.conf:3"))
    #expect(try site.posturectl("show", "edge-9").status == 3)

    let folder = site.folder.file("tokens")
    _ = try site.posturectl("recheck", "--device", "edge-1", "--wait", "--tokens", folder)
    let good = try site.posturectl("verify", "\(folder)/edge-1.jwt", "--offline")
    #expect(good.status == 0 && text(good).contains("agetty --autologin alice"))
    var token = try Home.read(text: "\(folder)/edge-1.jwt")
    let middle = token.index(token.startIndex, offsetBy: token.count / 2)
    token.replaceSubrange(middle...middle, with: token[middle] == "A" ? "B" : "A")
    try site.folder.write("forged.jwt", token)
    #expect(try site.posturectl("verify", site.folder.file("forged.jwt"), "--offline").status == 1)
    device.stop()
  }

  @Test func `a revoked device is shown as revoked, and its answers count for nothing`() throws {
    let site = try LiveSite()
    let device = try site.device("edge-1")
    device.change { $0 = .healthy }
    try device.start()
    #expect(try site.posturectl("recheck", "--device", "edge-1", "--wait").status == 0)
    let revoke = try site.posturectl("trust", "revoke", "edge-1")
    #expect(revoke.status == 0, "\(String(decoding: revoke.err, as: UTF8.self))")
    #expect(text(try site.posturectl("watch", "--once")).contains("revoked"))
    let recheck = try site.posturectl("recheck", "--device", "edge-1", "--wait", "--timeout", "2", "--json")
    #expect(recheck.status == 4)
    #expect(text(recheck).contains("\"code\":\"revoked\""))
    #expect(try site.posturectl("trust", "revoke", "nobody").status == 70)
    device.stop()
  }

  @Test func `a policy that a device is not yet on is shown`() throws {
    let site = try LiveSite()
    let device = try site.device("edge-1", groups: ["lathe"])
    device.change { $0 = .healthy }
    try device.start()
    #expect(try site.posturectl("policy", "set", "stolen", "--group", "lathe").status == 0)
    usleep(300_000)
    #expect(text(try site.posturectl("watch", "--once")).contains("entry→stolen"))
    let show = try JSONParser.parse(text(try site.posturectl("show", "edge-1", "--json")))
    #expect(show["duePolicy"]?.string == "stolen")
    #expect(text(try site.posturectl("show", "edge-1")).contains("entry, not yet stolen"))
    try site.folder.write("weak.json", #"{"name": "weak", "checks": {}}"#)
    #expect(try site.posturectl("policy", "set", site.folder.file("weak.json")).status == 70)
    #expect(try site.posturectl("policy", "set", site.folder.file("weak.json"), "--root").status == 0)
    device.stop()
  }

  @Test func `the trust document is renewed without the root`() throws {
    let site = try LiveSite()
    #expect(rename(site.home.path("root"), site.folder.file("elsewhere")) == 0)
    #expect(try site.posturectl("trust", "renew", "--days", "30").status == 0)
    let show = try site.posturectl("trust", "show", "--json")
    #expect(show.status == 0)
    #expect(try JSONParser.parse(text(show))["version"]?.integer == 2)
  }

  @Test func `wrong usage is 64, a missing folder 70, a broker that is away 69`() throws {
    let folder = try Folder()
    func status(_ arguments: String...) throws -> Int32 {
      try Command(Path.join(Repository.products, "posturectl"), arguments).run().status
    }
    #expect(try status() == 64)
    #expect(try status("nonsense") == 64)
    #expect(try status("recheck", "--home", folder.path) == 64)
    #expect(try status("recheck", "--all", "--device", "x", "--home", folder.path) == 64)
    #expect(try status("watch", "--state", "nonsense", "--home", folder.path) == 64)
    #expect(try status("show", "UPPER", "--home", folder.path) == 64)
    #expect(try status("watch", "--once", "--home", folder.path) == 70)
    #expect(try status("explain", "openEntry") == 0)
    #expect(try status("explain", "chainBroken") == 0)
    #expect(try status("explain", "nonsense") == 64)
    #expect(try status("--version") == 0)
    for verb in ["init", "enroll", "trust", "recheck", "watch", "show", "verify", "explain", "sign", "policy"] {
      #expect(try status(verb, "--help") == 0, "\(verb)")
    }
    let port = try Loopback.freePort()
    #expect(try status("init", folder.file("home"), "--operator-port", "\(port)", "--device-port", "1") == 0)
    #expect(try status("init", folder.file("home")) == 70)
    #expect(try status("watch", "--once", "--home", folder.file("home")) == 69)
  }
}
