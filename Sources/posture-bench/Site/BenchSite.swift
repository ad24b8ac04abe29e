import Glibc
import Posture
import PostureFleet
import PostureMQTT
import PosturePlatform
import PostureTokens

/// A site with a mosquitto of its own on loopback: the configuration that `posturectl init` writes.
final class BenchSite {
  let folder: WorkFolder
  let home: Home
  private(set) var broker: Child
  private let program: String

  private static let programs = ["/usr/sbin/mosquitto", "/usr/bin/mosquitto", "/usr/local/sbin/mosquitto"]

  /// `loads`: with a Unix socket besides, on which anybody may publish anything (``loader``).
  init(loads: Bool = false) throws(BenchError) {
    guard let program = Self.programs.first(where: { access($0, X_OK) == 0 }) else {
      throw BenchError("mosquitto is not installed")
    }
    self.program = program
    folder = try WorkFolder()
    do {
      home = try Self.build(folder)
      if loads { try Self.addLoader(home, folder) }
    } catch { throw BenchError("the site: \(error)") }
    broker = try Child(program, ["-c", home.path("broker/mosquitto.conf")], log: folder.file("broker.log"))
    try publishTrust()
  }

  private static func build(_ folder: WorkFolder) throws -> Home {
    let options = SiteBuilder.Options(
      site: Name("bench")!, hosts: ["localhost", "127.0.0.1"],
      deviceListener: .init(address: "127.0.0.1", port: try freePort()),
      operatorListener: .init(address: "127.0.0.1", port: try freePort()))
    return try SiteBuilder.build(folder.file("site"), options, at: Clock.wall)
  }

  private static func freePort() throws -> Int { Int(try ListenAddress(host: "127.0.0.1", port: 0).listen().port) }

  private static func addLoader(_ home: Home, _ folder: WorkFolder) throws {
    let file = home.path("broker/mosquitto.conf")
    let text = try Home.read(text: file)
    try Home.write("\(text)\nlistener 0 \(folder.file("loader"))\nallow_anonymous true\n", to: file)
  }

  /// Where the broker takes messages from anybody.
  var loader: Client.Server { .unix(path: folder.file("loader")) }

  /// Ends the broker without a word to it, and starts one that knows nothing.
  func restartBroker() throws(BenchError) {
    broker.crash()
    unlink(folder.file("loader"))
    broker = try Child(program, ["-c", home.path("broker/mosquitto.conf")], log: folder.file("broker.log"))
    try publishTrust()
  }

  private func publishTrust() throws(BenchError) {
    do {
      let desk = try IssuerDesk(home)
      let link = try waitForBroker()
      for publication in try desk.publications() { try link.publish(publication) }
      link.close()
    } catch { throw BenchError("the broker: \(error)") }
  }

  private func waitForBroker() throws -> OperatorLink {
    let end = Clock.boottimeMilliseconds + 10_000
    while true {
      do {
        let link = try OperatorLink(home, as: .issuer, subscribe: [])
        try link.waitOnline()
        return link
      } catch {
        guard Clock.boottimeMilliseconds < end, broker.isRunning else { throw error }
        Clock.sleep(milliseconds: 20)
      }
    }
  }
}
