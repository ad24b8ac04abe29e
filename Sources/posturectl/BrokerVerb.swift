import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl broker`: the files of a node of a cluster.
struct BrokerVerb: Verb {
  static let name = "broker"
  static let summary = "write the files of a node of an ejabberd cluster for an existing site"
  static let help = """
    usage: posturectl broker DIR [--folder DIR] [--listen ADDRESS] [--operator-listen ADDRESS] [--device-port N]
                             [--operator-port N] [--home DIR]

    Fills DIR with what one node of an ejabberd cluster needs to take the place of the site's mosquitto: ejabberd.yml with
    the same access rules, node.pem (certificate and key of the site's broker, the same on every node), ca.pem, and
    mod_posture.erl, which makes retained messages known on every node. No device is changed: the names and ports that it
    knows have to lead to the nodes.

      --folder DIR       where the files will lie on the node (default: DIR)
      --listen, --operator-listen
                         addresses to listen on (default: 0.0.0.0 and 127.0.0.1)
      --device-port, --operator-port
                         (default: as the site's)
    """

  private let home: HomeOption
  private let target: String
  private let folder: String?
  private let listen: String
  private let operatorListen: String
  private let devicePort: Int?
  private let operatorPort: Int?

  init(_ arguments: inout Arguments) throws(UsageError) {
    home = try HomeOption(&arguments)
    folder = try arguments.option("--folder")
    listen = try arguments.option("--listen") ?? "0.0.0.0"
    operatorListen = try arguments.option("--operator-listen") ?? "127.0.0.1"
    devicePort = try arguments.number("--device-port", in: 1...65_535)
    operatorPort = try arguments.number("--operator-port", in: 1...65_535)
    target = try arguments.rest(1...1, "the folder to fill")[0]
    guard folder?.hasPrefix("/") ?? true else { throw UsageError("--folder: not an absolute path") }
  }

  func run() throws -> Int32 {
    let home = try home.open()
    let target = Home.absolute(target)
    let node = ClusterNode(
      site: home.site, folder: folder ?? target,
      deviceListener: .init(address: listen, port: devicePort ?? Int(home.settings.devicePort)),
      operatorListener: .init(address: operatorListen, port: operatorPort ?? Int(home.settings.operatorPort)))
    try node.write(to: target, from: home)
    Terminal.out("the node's files are in \(target): \(ClusterNode.file) and what it names")
    return 0
  }
}
