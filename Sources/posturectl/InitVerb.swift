import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl init`: a new site.
struct InitVerb: Verb {
  static let name = "init"
  static let summary = "make the keys, credentials and broker configuration of a new site"
  static let help = """
    usage: posturectl init DIR [--site NAME] [--host HOST]... [--listen ADDRESS] [--device-port N]
                               [--operator-listen ADDRESS] [--operator-port N] [--trust-days N]

    Makes DIR with: root/ (the root's key: keep it offline), issuer/, controller/, policy/, monitor/ (a signing key, a
    credential and a TLS certificate each), tls/ (the transport CA), broker/ (a mosquitto configuration with a listener
    for devices and one for operators, and its access lists), trust/ (the first trust document).

      --site NAME       name of the site (default: site-a)
      --host HOST       a name or address of the broker; the first is what devices are told; localhost, 127.0.0.1 and
                        ::1 are in the certificate too (default: localhost)
      --listen, --operator-listen
                        addresses to listen on (default: 127.0.0.1)
      --device-port, --operator-port
                        (default: 8883 and 8884)
      --trust-days N    days that a trust document is good for (default: 90)

    Start the broker with: mosquitto -c DIR/broker/mosquitto.conf
    """

  private let folder: String
  private let options: SiteBuilder.Options

  init(_ arguments: inout Arguments) throws(UsageError) {
    let site = try arguments.name("--site") ?? Name("site-a")!
    let listen = try arguments.option("--listen") ?? "127.0.0.1"
    let operatorListen = try arguments.option("--operator-listen") ?? "127.0.0.1"
    let ports = 1...65_535
    let devicePort = try arguments.number("--device-port", in: ports) ?? 8_883
    let operatorPort = try arguments.number("--operator-port", in: ports) ?? 8_884
    let hosts = try arguments.options("--host")
    let trustLife = try arguments.days("--trust-days")
    folder = try arguments.rest(1...1, "the folder to make")[0]
    guard devicePort != operatorPort || listen != operatorListen else {
      throw UsageError("--device-port and --operator-port are the same")
    }
    var options = SiteBuilder.Options(
      site: site, hosts: Self.withLoopback(hosts),
      deviceListener: BrokerConfiguration.Listener(address: listen, port: devicePort),
      operatorListener: BrokerConfiguration.Listener(address: operatorListen, port: operatorPort))
    options.trustLife = trustLife ?? options.trustLife
    self.options = options
  }

  private static func withLoopback(_ hosts: [String]) -> [String] {
    var all = hosts.isEmpty ? ["localhost"] : hosts
    for host in ["localhost", "127.0.0.1", "::1"] where !all.contains(host) { all.append(host) }
    return all
  }

  func run() throws -> Int32 {
    let home = try SiteBuilder.build(folder, options, at: Clock.wall)
    Terminal.out("site \(home.site) is in \(home.folder)")
    Terminal.out("start the broker:  mosquitto -c \(home.path("broker/\(BrokerConfiguration.file)"))")
    Terminal.out("then:              posturectl --help, posturectl trust publish --home \(folder)")
    Terminal.out("keep offline:      \(home.path(Home.File.rootKey))")
    return 0
  }
}
