import Glibc
import Posture
import PostureFleet
import PosturePlatform

/// The agent of this very machine, enrolled at a site of the bench: attester and courier as the units start them, by uids
/// that own nothing else.
final class LocalAgent {
  static let device = Name("this-machine")!
  private static let attesterID: uid_t = 64_501
  private static let courierID: uid_t = 64_502
  private static let users = ["--user", "\(attesterID)", "--courier", "\(courierID)"]

  private let attester: Child
  private let courier: Child
  private let site: BenchSite

  /// Starts it and waits for its first report. `members`: of its configuration.
  init(_ programs: Programs, _ site: BenchSite, _ members: [JSON.Member] = []) throws(BenchError) {
    guard geteuid() == 0 else { throw BenchError("only root can start an agent for this machine") }
    self.site = site
    let folder = site.folder
    try Self.enroll(programs, site)
    let configuration = JSON.object(
      [
        JSON.Member("state", .string(folder.file("device"))),
        JSON.Member("socket", .string(folder.file("attester.sock"))), JSON.Member("clock", "trusted"),
      ] + members)
    do throws(SystemError) {
      try AtomicFile.write(configuration.bytes, to: folder.file("agent.json"), mode: 0o644)
    } catch { throw BenchError("\(error)") }
    let file = ["--config", folder.file("agent.json")]
    let listener: Descriptor
    do throws(SystemError) {
      listener = try UnixSocket.listen(folder.file("attester.sock"), owner: Self.courierID)
    } catch { throw BenchError("\(error)") }
    attester = try Self.start(
      Self.attesterID, ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"],
      [programs.agent, "attest", "--inherited", "--courier", "\(Self.courierID)"] + file,
      log: folder.file("attester.log"), input: listener.number)
    courier = try Self.start(
      Self.courierID, ["--inh-caps=-all"], [programs.agent, "run", "--alone"] + file, log: folder.file("courier.log"))
    try waitForReport()
  }

  private static func start(
    _ user: uid_t, _ capabilities: [String], _ words: [String], log: String, input: Int32 = -1
  ) throws(BenchError) -> Child {
    let identity = ["--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--no-new-privs"]
    // Another uid forgets with whom it has to end.
    return try Child(
      "/usr/bin/setpriv", identity + capabilities + ["--pdeathsig=KILL", "--"] + words, log: log, input: input)
  }

  /// Both, and what they have started.
  var family: [pid_t] { attester.family + courier.family }

  func stop() {
    courier.stop()
    attester.stop()
  }

  private static func enroll(_ programs: Programs, _ site: BenchSite) throws(BenchError) {
    let folder = site.folder
    let (request, bundle) = (folder.file("request"), folder.file("bundle"))
    let agent = ["enroll", "--folder", folder.file("device")] + users
    try run(programs.agent, agent + ["--name", device.description, "--out", request])
    try run(programs.posturectl, ["enroll", request, "--out", bundle, "--home", site.home.folder])
    chmod(bundle, 0o644)
    try run(programs.agent, agent + ["--install", bundle])
  }

  private static func run(_ program: String, _ arguments: [String]) throws(BenchError) {
    let output: Command.Output
    do throws(Command.Failure) { output = try Command(program, arguments).run() } catch {
      throw BenchError("\(program): \(error)")
    }
    guard output.status == 0 else {
      throw BenchError("\(program) \(arguments[0]): \(String(decoding: output.err, as: UTF8.self))")
    }
  }

  private func waitForReport() throws(BenchError) {
    do {
      let filters = Gathering.filters(of: Self.device)
      let end = Clock.boottimeMilliseconds + 30_000
      while Clock.boottimeMilliseconds < end, courier.isRunning, attester.isRunning {
        let (fleet, link) = try Gathering.start(site.home, as: .monitor, filters)
        link.close()
        if fleet.devices[Self.device]?.report != nil { return }
      }
    } catch { throw BenchError("\(error)") }
    throw BenchError("the agent made no report")
  }
}

/// What is measured.
struct Programs {
  var agent: String
  var posturectl: String
}
