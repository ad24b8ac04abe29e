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

  /// The process that answers for the session, over its socket.
  @Test(.timeLimit(.minutes(2))) func `what the session says is never of before the question`() throws {
    let session = try Session()
    let agent = try RunningProcess(
      Path.join(Repository.products, "posture-agent"), ["attest", "--session"], log: session.home.file("log"),
      environment: session.environment)
    defer { agent.crash() }
    let socket = session.home.file("posture/session.sock")
    for _ in 0..<500 where access(socket, F_OK) != 0 { usleep(10_000) }
    func said() throws -> SecretServiceResult.Outcome {
      var reader = FrameReader(cap: 4_096)
      reader.append(try #require(try UnixSocket.connect(socket).readAll(cap: 4_096)))
      let payload = try #require(try reader.next())
      return try #require(SecretServiceResult(json: try JSONParser.parse(payload))).outcome
    }
    #expect(try said() == .noProvider)
    try session.startKeyring(password: "correct horse")
    #expect(try said() == .works)
    session.stopKeyring()
    #expect(try said() == .noProvider)
    // A crowd hears what it heard.
    for _ in 0..<50 { #expect(try said() == .noProvider) }
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

  @Test(.enabled(if: Long.isWanted), .timeLimit(.minutes(5)))
  func `a thousand runs leave nothing`() throws {
    let session = try Session()
    try session.startKeyring(password: "correct horse")
    let began = Clock.boottimeMilliseconds
    for _ in 0..<1_000 { #expect(session.run().outcome == .works) }
    print("a round trip through gnome-keyring: \(Double(Clock.boottimeMilliseconds - began) / 1_000) ms")
    #expect(try session.leftovers() == "")
  }

  /// Whoever asks the agent in the session makes it try; it is killed while it does.
  @Test(
    .enabled(if: Long.isWanted && access("\(Repository.products)/posture-agent", X_OK) == 0), .timeLimit(.minutes(5)))
  func `agents killed at random moments leave at most one item, which the next run takes away`() throws {
    let session = try Session()
    try session.startKeyring(password: "correct horse")
    let seed = freshSeed("kill -9 in a session")
    var generator = SplitMix(seed)
    var left = 0
    for _ in 0..<200 {
      let agent = try RunningProcess(
        "\(Repository.products)/posture-agent", ["attest", "--session"], log: session.home.file("log"),
        environment: session.environment)
      let socket = session.home.file("posture/session.sock")
      for _ in 0..<200 {
        if (try? UnixSocket.connect(socket)) != nil { break }
        usleep(5_000)
      }
      usleep(UInt32.random(in: 0...12_000, using: &generator))
      agent.crash()
      unlink(socket)
      let found = try session.leftovers().split(separator: "\n").filter { $0.hasPrefix("[/") }.count
      #expect(found <= 1, "seed \(seed)")
      left += found
    }
    print("of 200 killed agents \(left) times one item was left")
    #expect(left > 0, "none was killed half way: seed \(seed)")
    #expect(session.run().outcome == .works)
    #expect(try session.leftovers() == "")
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

  // MARK: Other providers

  /// Serves secrets under another program's name: it has one collection, and asks before it stores.
  private static let provider = """
    import ctypes, sys, dbus, dbus.service, dbus.mainloop.glib
    from gi.repository import GLib
    program, state, log = sys.argv[1:]
    ctypes.CDLL(None).prctl(15, program.encode(), 0, 0, 0)
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SessionBus()
    top = '/org/freedesktop/secrets'
    def note(text): print(text, file=open(log, 'a'), flush=True)
    class Service(dbus.service.Object):
        @dbus.service.method('org.freedesktop.Secret.Service', in_signature='s', out_signature='o')
        def ReadAlias(self, name): return top + '/collection/mine'
        @dbus.service.method('org.freedesktop.Secret.Service', in_signature='sv', out_signature='vo')
        def OpenSession(self, algorithm, given): return dbus.String('', variant_level=1), top + '/session/1'
    class Collection(dbus.service.Object):
        @dbus.service.method('org.freedesktop.DBus.Properties', in_signature='ss', out_signature='v')
        def Get(self, interface, name): return dbus.Boolean(state == 'locked', variant_level=1)
        @dbus.service.method('org.freedesktop.Secret.Collection', in_signature='a{ss}', out_signature='ao')
        def SearchItems(self, attributes): return []
        @dbus.service.method('org.freedesktop.Secret.Collection', in_signature='a{sv}(oayays)b', out_signature='oo')
        def CreateItem(self, properties, secret, replace):
            note('create')
            return '/', top + '/prompt/1'
    class Prompt(dbus.service.Object):
        @dbus.service.method('org.freedesktop.Secret.Prompt')
        def Dismiss(self): note('dismiss')
        @dbus.service.method('org.freedesktop.Secret.Prompt', in_signature='s')
        def Prompt(self, window): note('prompt')
    name = dbus.service.BusName('org.freedesktop.secrets', bus)
    objects = [Service(bus, top), Collection(bus, top + '/collection/mine'), Prompt(bus, top + '/prompt/1')]
    note('ready')
    GLib.MainLoop().run()
    """

  private static let canPlay =
    (try? Tools.run("/usr/bin/python3", ["-c", "import dbus.mainloop.glib; from gi.repository import GLib"])) != nil

  @Test(
    .enabled(if: canPlay), .timeLimit(.minutes(1)),
    arguments: [
      ("keepassxc", "keepassxc"), ("pass_secret_ser", "pass-secret-service"),
      ("pass-secret-ser", "pass-secret-service"),
      ("ksecretd", "kwallet"), ("kwalletd6", "kwallet"), ("oo7-daemon", "oo7"), ("somebody", "somebody"),
    ])
  func `providers by name, and none is ever made to ask`(program: String, provider: String) throws {
    for state in ["locked", "unlocked"] {
      let session = try Session()
      let log = session.home.file("said")
      let process = try RunningProcess(
        "/usr/bin/python3", ["-c", Self.provider, program, state, log], log: session.home.file("log"),
        environment: session.environment)
      for _ in 0..<1_000 where access(log, F_OK) != 0 { usleep(10_000) }
      let result = session.run()
      process.crash()
      let said = String(decoding: try AtomicFile.readAny(log), as: UTF8.self).split(separator: "\n")
      // oo7 is taken to store without a question; where it would ask, the question goes away unseen.
      let isTried = provider == "oo7" && state == "unlocked"
      #expect(result.provider == provider && result.collection == "mine")
      #expect(result.outcome == (state == "locked" ? .locked : isTried ? .refused : .unlocked))
      #expect(said == (isTried ? ["ready", "create", "dismiss"] : ["ready"]))
    }
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
