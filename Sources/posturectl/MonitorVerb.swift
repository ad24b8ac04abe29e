import Glibc
import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl monitor`: verifies, keeps, and shows the fleet.
struct MonitorVerb: Verb {
  static let name = "monitor"
  static let summary = "keep the state and history of the fleet; page, metrics and API over HTTP"
  static let help = """
    usage: posturectl monitor [--listen ADDRESS:PORT] [--token-file FILE] [--recheck] [--history FILE] [--keep DAYS]
                              [--silence S] [--home DIR]

    Subscribes to everything, verifies it, keeps state in memory and history in SQLite; after a restart the state comes
    back from what the broker keeps. Where broker or history are in trouble it says so on standard error, once when it
    begins and once when it ends.

      --listen ADDRESS:PORT   (default: 127.0.0.1:8470)
      --token-file FILE       a file (0600) with the token that API and metrics ask for (Authorization: Bearer …); needed
                              beyond loopback, where a proxy has to add TLS
      --recheck               let the page ask for rechecks, with the controller key of the folder
      --history FILE          (default: monitor/history.db in the folder)
      --keep DAYS             how long history is kept (default: 90)
      --silence S             seconds after which a device that says nothing is silent (default: 7800)

      /                       the page
      /metrics                for Prometheus
      /api/v1/fleet, /api/v1/devices, /api/v1/devices/D, /api/v1/devices/D/history, /api/v1/devices/D/report,
      /api/v1/events          JSON, the signed report, server-sent events
    """

  private let home: HomeOption
  private let address: ListenAddress
  private let tokenFile: String?
  private let allowsRecheck: Bool
  private let history: String?
  private var settings = Monitor.Settings()

  init(_ arguments: inout Arguments) throws(UsageError) {
    home = try HomeOption(&arguments)
    let listen = try arguments.option("--listen") ?? "127.0.0.1:8470"
    guard let address = ListenAddress(listen) else { throw UsageError("--listen \(listen): not ADDRESS:PORT") }
    self.address = address
    tokenFile = try arguments.option("--token-file")
    allowsRecheck = arguments.flag("--recheck")
    history = try arguments.option("--history")
    settings.retention = try arguments.days("--keep") ?? settings.retention
    settings.limits.silence =
      try arguments.number("--silence", in: 10...31_536_000).map(Int64.init) ?? settings.limits.silence
    settings.log = { Terminal.error("posturectl: \($0)") }
    settings.shards = max(1, min(16, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    try arguments.end()
    guard address.isLoopback || tokenFile != nil else {
      throw UsageError("--listen beyond loopback needs --token-file")
    }
  }

  func run() throws -> Int32 {
    let home = try home.open()
    let token = try tokenFile.map { try Home.read(text: $0) }
    guard token.map({ $0.utf8.count >= 16 }) ?? true else {
      throw HomeError(.refused, "\(tokenFile ?? ""): shorter than 16 bytes")
    }
    let path = try history ?? Home.prepareHistory(home)
    Heap.expectBursts()
    let monitor = try Monitor(home, history: try SQLiteHistory(path: path), settings)
    let asker = allowsRecheck ? try RecheckAsker(home) : nil
    let listener = try address.listen()
    let port = listener.port
    let access = Access(address, port: port, token: token)
    let api = MonitorAPI(monitor, access, asker: asker)
    let server = try HTTPServer(listener.take(), headers: MonitorAPI.headers) { api.answer($0) }
    Stop.onSignals()
    _ = try Thread.start("stop") {
      while !Stop.isAsked { Clock.sleep(milliseconds: 100) }
      monitor.stop()
    }
    Terminal.out("listening on http://\(address.uriHost):\(port)/")
    try monitor.run()
    server.stop()
    return 0
  }
}
