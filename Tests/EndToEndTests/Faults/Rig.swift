import Glibc
import Posture
import PostureAttester
import PostureFleet
import PostureMQTT
import PosturePlatform
import PostureTokens
import TestKit
import Testing

/// One device with everything real: a site as `posturectl init` makes it, its mosquitto, the attester and the courier as
/// processes of their own users, and a broker that writes down what it takes (broker_record.c).
final class Rig {
  struct Options {
    /// Words before the broker's and the courier's programs.
    var brokerPrefix: [String] = []
    var courierPrefix: [String] = []
    /// Where the broker listens.
    var address = "127.0.0.1"
    /// The courier reaches the broker over ``Rig/link``.
    var isLinked = false
    /// Both processes run with a clock that ``Rig/turn(date:sleep:)`` turns.
    var hasClock = false
    /// The folder of the device's state is below this one.
    var disk: String?
    /// Members of the agent's configuration.
    var settings: [JSON.Member] = []
    var clock = "trusted"
    /// Seconds.
    var keepalive: Int64 = 60
    /// The courier runs as its own user, without rights, where root runs the tests.
    var groups: [String] = []
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// POSTURE_AGENT names another build of the program: one with a sanitizer.
  static let isSanitized = getenv("POSTURE_AGENT") != nil
  static let program =
    getenv("POSTURE_AGENT").map { String(cString: $0) } ?? Path.join(Repository.products, "posture-agent")
  /// POSTURE_PRELOAD: a library that the build of that name needs.
  private static let preload = getenv("POSTURE_PRELOAD").map { String(cString: $0) }
  static let isPossible =
    geteuid() == 0 && Broker.isInstalled && CCompiler.path != nil
    && access("/usr/include/mosquitto_plugin.h", R_OK) == 0
  /// For tests that have no short form.
  static let isLong = isPossible && Long.isWanted
  static let needsLong: Comment = "long tier: set POSTURE_LONG; needs what the short form needs"
  static let needs: Comment = "needs root, mosquitto, mosquitto-dev and a C compiler"
  private static let users = (attester: "64001", courier: "64002")

  let options: Options
  let folder: Folder
  let home: Home
  let tree: FixtureTree
  let device: Party
  let hand: Hand
  let record: BrokerRecord
  let link: FaultyLink?
  private let controller: Identity
  private let port: UInt16
  private(set) var broker: RunningProcess?
  private(set) var attester: RunningProcess?
  private(set) var courier: RunningProcess?
  private(set) var isOpen = false

  init(_ options: Options = Options()) throws {
    self.options = options
    folder = try Folder()
    chmod(folder.path, 0o755)
    tree = try Self.machine()
    port = try Loopback.freePort()
    var site = SiteBuilder.Options(
      site: Name("site-a")!, hosts: ["127.0.0.1", "localhost", options.address],
      deviceListener: .init(address: options.address, port: Int(port)),
      operatorListener: .init(address: options.address, port: Int(try Loopback.freePort())))
    // Longer than the date is turned by.
    site.trustLife = 1_000_000
    home = try SiteBuilder.build(folder.file("home"), site, at: Clock.wall)
    controller = try Identity(.controller, in: home)
    device = Party(home.site, Name("edge-1")!)
    record = BrokerRecord(folder.file("record"), device)
    hand = try Hand(folder.file("broker.sock"))
    link = options.isLinked ? try FaultyLink(to: port) : nil
    try prepareBroker()
    try prepareClock()
    try startBroker()
    try enroll()
  }

  /// A machine of which everything can be told: it passes, and fails without a password.
  private static func machine() throws -> FixtureTree {
    let tree = try SmallMachine.make()
    TemporaryFolder.remove(tree.place("/home/alice/.local"))
    let unit = "/lib/systemd/system/getty@.service"
    try tree.write(
      unit, "[Service]\nExecStart=-/sbin/agetty --noclear %I $TERM\n[Install]\nWantedBy=getty.target\n")
    tree.link("/etc/systemd/system/getty.target.wants/getty@tty1.service", to: unit)
    return tree
  }

  deinit {
    for process in [courier, attester, broker] { process?.crash() }
    link?.stop()
  }

  // MARK: The broker

  /// The site's own configuration, and a plugin and a door for the test.
  private func prepareBroker() throws {
    let plugin = folder.file("record.so")
    try CCompiler.buildLibrary("broker_record.c", to: plugin)
    let written = try Home.read(text: home.path("broker/mosquitto.conf"))
    let recording = "plugin \(plugin)\nplugin_opt_file \(record.path)\n"
    let listener = "listener \(port) \(options.address)\n"
    var text = written.replacing(listener, with: listener + recording)
    text += "\nlistener 0 \(hand.path)\nallow_anonymous true\n" + recording
    try Home.write(text, to: folder.file("mosquitto.conf"))
  }

  func startBroker() throws {
    let words = options.brokerPrefix + [Broker.program, "-c", folder.file("mosquitto.conf")]
    broker = try RunningProcess(words[0], Array(words.dropFirst()), log: folder.file("broker.log"))
    guard hand.waitOnline(10_000) else { throw Failure(description: "no broker: \(text("broker.log").suffix(800))") }
    // A broker that was killed has forgotten it.
    publish(.trust, try Home.read(text: home.path(Home.File.trust)), retain: true)
  }

  /// The line leads to our broker again.
  func leadHome() {
    link?.lead(to: port)
    link?.cut(after: 0)
    // What it says of itself is of the new connection, or of none.
    usleep(300_000)
  }

  /// SIGKILL, or SIGTERM.
  func stopBroker(kill isKilled: Bool) {
    if isKilled { broker?.crash() } else { broker?.stop() }
    broker = nil
    unlink(hand.path)
  }

  // MARK: The device

  private var state: String { (options.disk ?? folder.path) + "/state" }
  private var configuration: String { folder.file("agent.json") }
  private var socket: String { folder.file("attester.sock") }

  func configure(_ more: [JSON.Member] = []) throws {
    let broker: JSON = [
      "host": .string(link == nil ? options.address : "127.0.0.1"), "port": .integer(Int64(link?.port ?? port)),
      "serverName": .string(options.address),
    ]
    var members = [
      JSON.Member("state", .string(state)), JSON.Member("socket", .string(socket)), JSON.Member("broker", broker),
      JSON.Member("clock", .string(options.clock)), JSON.Member("keepalive", .integer(options.keepalive)),
      JSON.Member("longestWait", 1),
    ]
    for member in options.settings + more {
      members.removeAll { $0.name == member.name }
      members.append(member)
    }
    try AtomicFile.write(JSON.object(members).bytes, to: configuration, mode: 0o644)
  }

  private func enroll() throws {
    try configure()
    let users = ["--user", Self.users.attester, "--courier", Self.users.courier]
    try run(["enroll", "--config", configuration, "--name", "edge-1", "--out", folder.file("request")] + users)
    let request = try EnrolmentRequest(try AtomicFile.readAny(folder.file("request")).filter { $0 != 0x0A })
    var wishes = EnrolmentDesk.Options()
    wishes.groups = options.groups.compactMap { Name($0) }
    let bundle = try EnrolmentDesk(home).enroll(request, wishes, at: Clock.wall)
    try folder.write("bundle", bundle.json.text, mode: 0o644)
    try folder.write("credential", bundle.credential)
    try run(["enroll", "--config", configuration, "--install", folder.file("bundle")] + users)
  }

  private func run(_ words: [String]) throws {
    var command = Command(Self.program, words)
    command.timeout = 30_000
    let output = try command.run()
    guard output.status == 0 else { throw Failure(description: String(decoding: output.err, as: UTF8.self)) }
  }

  func startAttester() throws {
    // A second one would find the journal taken.
    attester?.crash()
    attester = try RunningProcess(
      Self.program,
      [
        "attest", "--config", configuration, "--root", tree.root, "--user", Self.users.attester, "--courier",
        Self.users.courier,
      ], log: folder.file("attester.log"), environment: environment)
  }

  func startCourier() throws {
    courier?.crash()
    let words =
      options.courierPrefix + [
        "/usr/bin/setpriv", "--reuid=\(Self.users.courier)", "--regid=\(Self.users.courier)", "--clear-groups",
        Self.program, "run", "--alone", "--config", configuration,
      ]
    courier = try RunningProcess(
      words[0], Array(words.dropFirst()), log: folder.file("courier.log"), environment: environment)
  }

  /// Runs a program as the courier's user.
  func runAsCourier(_ words: String...) throws -> Command.Output {
    try Command(
      "/usr/bin/setpriv",
      ["--reuid=\(Self.users.courier)", "--regid=\(Self.users.courier)", "--clear-groups"] + words
    ).run()
  }

  func crashAttester() { attester?.crash() }
  func crashCourier() { courier?.crash() }

  /// Both, and the first report is there.
  func start() throws {
    try startAttester()
    try startCourier()
    guard record.wait(for: "report", 15_000) != nil else { throw silence("no first report") }
  }

  /// SIGTERM; milliseconds until it has gone, nil where it does not within three seconds.
  func stopCourier() -> Int64? {
    let begin = Clock.monotonicMilliseconds
    courier?.send(SIGTERM)
    guard courier?.wait(3_000) == 0 else { return nil }
    return Clock.monotonicMilliseconds - begin
  }

  func silence(_ what: String) -> Failure {
    Failure(
      description: "\(what)\n\(text("courier.log").suffix(1_500))\n\(text("attester.log").suffix(800))\n"
        + (status()?.text ?? "no status"))
  }

  func text(_ file: String) -> String {
    (try? AtomicFile.readAny(folder.file(file))).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  // MARK: What happens to it

  /// With or without a password for alice.
  func change(open: Bool) throws {
    isOpen = open
    try tree.write("/etc/shadow", open ? SmallMachine.openShadow : SmallMachine.shadow, mode: 0o600)
  }

  func ask<Answer>(_ body: (inout AttesterClient) throws -> Answer) throws -> Answer {
    var client = try AttesterClient(socket)
    return try body(&client)
  }

  var socketPath: String { socket }

  /// What `posture-agent status --json` says.
  func status() -> JSON? {
    guard case .status(let status) = try? ask({ try $0.ask(.status, timeout: 5_000) }) else { return nil }
    return status
  }

  func publish(_ place: Topic.Place, _ text: String, retain: Bool = false) {
    hand.publish(Publication(Topic(home.site, place).text, Array(text.utf8), retain: retain))
  }

  func command(life: Int64 = 120, date: Int64 = 0, challenge: String? = nil) throws -> RecheckCommand {
    var options = RecheckCommand.Options()
    options.life = life
    options.challenge = challenge
    return try RecheckCommand(.device(device), from: controller, at: Clock.wall + date, options)
  }

  /// Asks for a report as a controller does, and gives its claims.
  func recheck(
    within milliseconds: Int64 = 60_000, date: Int64 = 0, challenge: String? = nil
  ) throws -> JSON {
    let command = try command(life: 300, date: date, challenge: challenge)
    publish(.recheckDevice(device.name), command.token)
    let nonce = command.claims.nonce
    let isIt = { (claims: JSON) in
      claims["eat_nonce"]?.string == nonce || claims["eat_nonce"]?.strings?.contains(nonce) == true
    }
    guard let report = record.wait(for: "report", milliseconds, isIt) else { throw silence("no answer to a recheck") }
    return report
  }

  // MARK: The clock

  private var environment: [String] {
    var words = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]
    if options.hasClock { words.append("POSTURE_CLOCK=\(folder.file("clock"))") }
    let preloaded = [Self.preload, options.hasClock ? folder.file("clock.so") : nil].compactMap(\.self)
    if !preloaded.isEmpty { words.append("LD_PRELOAD=\(preloaded.joined(separator: ":"))") }
    // A sanitizer speaks where it found something, and ends what it found it in. Nothing may look into these processes,
    // the search for leaks neither.
    return words + [
      "ASAN_OPTIONS=detect_leaks=0:exitcode=99", "TSAN_OPTIONS=halt_on_error=1:exitcode=99:atexit_sleep_ms=0",
    ]
  }

  private func prepareClock() throws {
    guard options.hasClock else { return }
    try CCompiler.buildLibrary("turned_clock.c", to: folder.file("clock.so"))
    chmod(folder.file("clock.so"), 0o755)
    try AtomicFile.write(Array(repeating: 0, count: 16), to: folder.file("clock"), mode: 0o644)
  }

  /// Seconds that the date is ahead, and milliseconds that the machine has slept.
  func turn(date: Int64, sleep: Int64 = 0) throws {
    let file = try Descriptor.open(folder.file("clock"), O_WRONLY)
    try file.writeAll([date, sleep].flatMap { number in withUnsafeBytes(of: number) { Array($0) } })
  }
}
