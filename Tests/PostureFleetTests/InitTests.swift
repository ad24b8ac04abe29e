import Glibc
import Posture
import PosturePlatform
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

/// A folder is a whole site, or can be made one.
@Suite struct InitTests {
  private func expectWhole(_ home: Home) throws {
    #expect(try Home.open(home.folder).site == home.site)
    #expect(!Home.names(in: home.folder).contains { $0.hasPrefix(".") })
    for role in SiteBuilder.roles { _ = try Identity(role, in: home) }
    #expect(try IssuerDesk(home).store(at: Clock.wall).current?.version == 1)
    let configuration = try Home.read(text: home.path("broker/mosquitto.conf"))
    #expect(configuration.contains("cafile \(home.folder)/broker/ca.pem\n"))
  }

  @Test func `init that was killed at any moment can be given again`() throws {
    try TemporaryFolder.with { folder in
      let program = Path.join(Repository.products, "posturectl")
      for step in 0..<12 {
        let site = "\(folder)/site-\(step)"
        let first = try RunningProcess(program, ["init", site], log: "\(folder)/log")
        usleep(UInt32(step) * 5_000)
        first.crash()
        // What was finished stays; what was not is made anew.
        let names = Home.names(in: site)
        try expectWhole(names.contains("posture.json") ? Home.open(site) : Home.built(site))
      }
    }
  }

  @Test func `what an interrupted init left is no obstacle`() throws {
    try TemporaryFolder.with { folder in
      let site = "\(folder)/site"
      for path in [site, "\(site)/.init", "\(site)/.init/root", "\(site)/.init/tls"] { try Home.makeFolder(path) }
      try Home.write("half a key", to: "\(site)/.init/root/root.key")
      symlink("/etc", "\(site)/.init/link")
      try expectWhole(Home.built(site))
      #expect(access("/etc/passwd", F_OK) == 0)
      // A whole one is never touched, nor is what is somebody else's.
      #expect(throws: HomeError.self) { try Home.built(site) }
      try Home.makeFolder("\(folder)/other")
      try Home.write("mine", to: "\(folder)/other/notes")
      #expect(throws: HomeError.self) { try Home.built("\(folder)/other") }
      #expect(Home.names(in: "\(folder)/other") == ["notes"])
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible)) func `init on a full disk leaves nothing behind`() throws {
    try SmallDisk.with { disk in
      let site = "\(disk.path)/site"
      try Home.makeFolder(site)
      try disk.fill()
      #expect(throws: (any Error).self) { try Home.built(site) }
      #expect(Home.names(in: site).isEmpty)
      disk.empty()
      try expectWhole(Home.built(site))
    }
  }
}
