import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// A session bus of its own with a real gnome-keyring, and secret-tool as the judge.
@Suite(
  .serialized,
  .enabled(if: Tools.has("/usr/bin/dbus-daemon", "/usr/bin/gnome-keyring-daemon", "/usr/bin/secret-tool")))
struct KeyringSessionTests {
  private final class Session {
    let home: Folder
    let bus: RunningProcess
    let address: String
    private var keyring: RunningProcess?

    init() throws {
      home = try Folder()
      address = "unix:path=\(home.file("bus"))"
      bus = try RunningProcess(
        "/usr/bin/dbus-daemon", ["--session", "--nofork", "--nosyslog", "--address=\(address)"], log: home.file("log"))
      for _ in 0..<300 where access(home.file("bus"), F_OK) != 0 { usleep(10_000) }
    }

    deinit {
      keyring?.crash()
      bus.crash()
    }

    var environment: [String] {
      [
        "PATH=/usr/bin:/bin", "HOME=\(home.path)", "XDG_RUNTIME_DIR=\(home.path)",
        "DBUS_SESSION_BUS_ADDRESS=\(address)", "LC_ALL=C.UTF-8",
      ]
    }

    /// With a password: the login keyring is made and unlocked.
    func startKeyring(password: String?) throws {
      let words = "exec gnome-keyring-daemon --foreground --components=secrets --control-directory=\(home.path)/control"
      if let password { try home.write("password", password) }
      let script = password == nil ? words : "\(words) --unlock < \(home.file("password"))"
      keyring = try RunningProcess("/bin/sh", ["-c", script], log: home.file("log"), environment: environment)
      for _ in 0..<500 {
        if run().outcome != .noProvider { return }
        usleep(10_000)
      }
      throw Tools.Failure(description: "gnome-keyring does not come up")
    }

    func stopKeyring() { keyring?.stop() }

    func tool(_ arguments: String..., input: String = "") throws -> String {
      try Tools.run("/usr/bin/secret-tool", arguments, input: Array(input.utf8), environment: environment)
    }

    func run() -> SecretServiceResult {
      let deadline = Clock.boottimeMilliseconds + SecretServiceProbe.timeout
      return SecretServiceProbe.examine(address, deadline)
    }

    /// Items of ours, as secret-tool finds them.
    func leftovers() throws -> String {
      var command = Command("/usr/bin/secret-tool", ["search", "--all", "application", "posture-agent-probe"])
      command.environment = environment
      return String(decoding: try command.run().out, as: UTF8.self)
    }
  }

  @Test(.timeLimit(.minutes(2))) func `an unlocked collection passes, and keeps nothing of it`() throws {
    let session = try Session()
    try session.startKeyring(password: "correct horse")
    _ = try session.tool("store", "--label=other", "kind", "test", input: "kept")
    for _ in 0..<100 {
      #expect(session.run() == SecretServiceResult(.works, provider: "gnome-keyring", collection: "login"))
    }
    #expect(try session.leftovers() == "")
    #expect(try session.tool("lookup", "kind", "test") == "kept")
    let file = try AtomicFile.readAny(session.home.file(".local/share/keyrings/login.keyring"))
    #expect(GnomeKeyring(file) == .encrypted)
  }

  @Test(.timeLimit(.minutes(2))) func `a locked collection is left alone`() throws {
    let session = try Session()
    try session.startKeyring(password: "correct horse")
    _ = try session.tool("store", "--label=other", "kind", "test", input: "kept")
    session.stopKeyring()
    try session.startKeyring(password: nil)
    let result = session.run()
    #expect(result == SecretServiceResult(.locked, provider: "gnome-keyring", collection: "login"))
    var facts = ProbeResult()
    result.apply(to: &facts, owner: "alice")
    #expect(facts.doors.map(\.name) == ["secrets@gnome-keyring:login"])
    #expect(facts.doors.first?.opening == .passcode && facts.doors.first?.isDefault == true)
    #expect(facts.doors.first?.proof == Door.Proof(.roundTrip, .refused, reason: "locked"))
  }

  @Test(.timeLimit(.minutes(2))) func `an empty password makes a plaintext file that nobody locks`() throws {
    let session = try Session()
    mkdir(session.home.file(".local"), 0o700)
    mkdir(session.home.file(".local/share"), 0o700)
    mkdir(session.home.file(".local/share/keyrings"), 0o700)
    try session.home.write(".local/share/keyrings/open.keyring", KeyringGnomeTests.plain)
    try session.home.write(".local/share/keyrings/default", "open")
    try session.startKeyring(password: nil)
    // The daemon calls it locked until somebody asks for it, and would then unlock it without a question.
    let result = session.run()
    #expect(result == SecretServiceResult(.locked, provider: "gnome-keyring", collection: "open"))
    var facts = ProbeResult()
    facts.doors = [Door("secrets@gnome-keyring:open", .secret, "alice", .always, because: [])]
    facts.doors[0].proof = Door.Proof(.header, .ok)
    result.apply(to: &facts, owner: "alice")
    #expect(facts.doors.count == 1 && facts.doors[0].opening == .always && facts.doors[0].isDefault)
    #expect(facts.doors[0].proof == Door.Proof(.header, .ok))
    _ = try session.tool("store", "--label=other", "kind", "test", input: "kept")
    #expect(session.run().outcome == .works)
    #expect(try session.leftovers() == "")
    #expect(GnomeKeyring(try AtomicFile.readAny(session.home.file(".local/share/keyrings/open.keyring"))) == .plaintext)
  }

  @Test(.timeLimit(.minutes(2))) func `no collection, no provider, no bus`() throws {
    let session = try Session()
    #expect(session.run() == SecretServiceResult(.noProvider))
    try session.startKeyring(password: nil)
    #expect(session.run() == SecretServiceResult(.noDefault, provider: "gnome-keyring"))
    let deadline = Clock.boottimeMilliseconds + 2_000
    #expect(SecretServiceProbe.examine("unix:path=/nowhere/bus", deadline).outcome == .noSession)
    #expect(SecretServiceProbe.examine("nonsense", deadline).outcome == .noSession)
    #expect(SecretServiceProbe.examine(nil, deadline).outcome == .noSession)
  }

  @Test(.timeLimit(.minutes(2))) func `a bus or a provider that hangs costs two seconds`() throws {
    let session = try Session()
    try session.startKeyring(password: "correct horse")
    session.bus.send(SIGSTOP)
    let began = Clock.boottimeMilliseconds
    #expect(session.run().outcome == .timeout)
    #expect(Clock.boottimeMilliseconds - began < 4_000)
    session.bus.send(SIGCONT)
  }

  /// A run that is killed after it stored leaves one item, which the next run takes away.
  @Test(.timeLimit(.minutes(2))) func `what a killed run left behind is swept`() throws {
    let session = try Session()
    try session.startKeyring(password: "correct horse")
    _ = try session.tool("store", "--label=posture-agent probe", "application", "posture-agent-probe", input: "left")
    #expect(try session.leftovers() != "")
    #expect(session.run().outcome == .works)
    #expect(try session.leftovers() == "")
  }

  @Test func `results cross a pipe`() {
    for outcome in SecretServiceResult.Outcome.allCases {
      let result = SecretServiceResult(outcome, provider: "gnome-keyring", collection: "login")
      #expect(SecretServiceResult(json: result.json) == result)
      #expect(SecretServiceResult(json: SecretServiceResult(outcome).json) == SecretServiceResult(outcome))
    }
    #expect(SecretServiceResult(json: ["outcome": "great"]) == nil)
  }

  @Test func `names of collections`() {
    #expect(SecretServiceProbe.collectionName("/org/freedesktop/secrets/collection/login") == "login")
    #expect(
      SecretServiceProbe.collectionName("/org/freedesktop/secrets/collection/Default_5fkeyring") == "Default_keyring")
    #expect(SecretServiceProbe.collectionName("/a/b_2dc_zz_") == "b-c_zz_")
  }
}
