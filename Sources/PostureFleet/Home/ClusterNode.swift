public import Posture
import PostureTokens

/// One node of an ejabberd cluster that takes the place of a site's broker: its configuration and certificate.
///
/// Every node has the same certificate, so that clients know the cluster under one name, whichever node they reach.
public struct ClusterNode: Sendable {
  public static let file = "ejabberd.yml"
  static let certificate = "node.pem"
  static let authority = "ca.pem"
  static let module = "mod_posture.erl"

  public var site: Name
  /// Where the files lie on the node's machine: absolute.
  public var folder: String
  public var deviceListener: BrokerConfiguration.Listener
  public var operatorListener: BrokerConfiguration.Listener

  public init(
    site: Name, folder: String, deviceListener: BrokerConfiguration.Listener,
    operatorListener: BrokerConfiguration.Listener
  ) {
    self.site = site
    self.folder = folder
    self.deviceListener = deviceListener
    self.operatorListener = operatorListener
  }

  /// Writes what a node needs into `target`, with the certificate of the site's broker.
  public func write(to target: String, from home: Home) throws(HomeError) {
    try Home.makeFolder(target)
    let broker = home.path(Home.File.broker)
    let chain = try ["broker.pem", "broker.key"].map { (name) throws(HomeError) in
      try Home.read(text: "\(broker)/\(name)") + "\n"
    }
    try Home.write(chain.joined(), to: "\(target)/\(Self.certificate)")
    try Home.write(try Home.read(text: home.path(Home.File.authority)) + "\n", to: "\(target)/\(Self.authority)")
    try Home.write(configuration, to: "\(target)/\(Self.file)")
    try Home.write(
      String(decoding: PackageResources.mod_posture_erl, as: UTF8.self), to: "\(target)/\(Self.module)")
  }

  /// `ejabberd.yml`. The site is the host that names belong to.
  public var configuration: String {
    """
    # A node of the cluster of site \(site). Clients are known by their certificate alone: there are no passwords, and
    # no certificate is fetched from anywhere.
    hosts: ["\(site)"]
    loglevel: warning
    certfiles: ["\(folder)/\(Self.certificate)"]
    ca_file: "\(folder)/\(Self.authority)"
    c2s_cafile: "\(folder)/\(Self.authority)"
    acme:
      auto: false
    auth_method: mnesia
    acl:
    \(lists)
    listen:
    \(listener(deviceListener))
    \(listener(operatorListener))
    modules:
      mod_posture: {}
      mod_mqtt:
        # A monitor gets the retained messages of every device at once.
        match_retained_limit: infinity
        max_queue: 400000
        cache_size: infinity
        access_publish:
    \(rules(\.write))
        access_subscribe:
    \(rules(\.read))

    """
  }

  private func listener(_ listener: BrokerConfiguration.Listener) -> String {
    """
      -
        module: mod_mqtt
        ip: "\(listener.address)"
        port: \(listener.port)
        tls: true
        tls_verify: true
        backlog: 4096
        max_payload_size: 70000
    """
  }

  private static let roles = AccessRules.reserved.joined(separator: "|")

  /// Who belongs to which side: every name that is no role's is a device's.
  private var lists: String {
    AccessRules(site).sides.map { side in
      side.role.map { "  \($0.rawValue): {user: \"\($0.rawValue)\"}" }
        ?? "  device: {user_regexp: \"^(?!(\(Self.roles))$)\"}"
    }.joined(separator: "\n")
  }

  /// A topic is written once, with everybody who may.
  private func rules(_ topics: KeyPath<AccessRules.Side, [String]>) -> String {
    var allowed: [(topic: String, who: [String])] = []
    for side in AccessRules(site).sides {
      let who = side.role?.rawValue ?? "device"
      for topic in side[keyPath: topics] {
        if let at = allowed.firstIndex(where: { $0.topic == topic }) {
          allowed[at].who.append(who)
        } else {
          allowed.append((topic, [who]))
        }
      }
    }
    return allowed.map { rule in
      "      \"\(rule.topic)\": [\(rule.who.map { "{allow: \($0)}" }.joined(separator: ", "))]"
    }.joined(separator: "\n")
  }
}
