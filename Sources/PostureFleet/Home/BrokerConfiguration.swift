public import Posture

/// The mosquitto configuration and access lists of one site. Their size does not depend on the number of devices or groups.
public struct BrokerConfiguration: Sendable {
  public static let file = "mosquitto.conf"
  public static let deviceRules = "devices.acl"
  public static let operatorRules = "operators.acl"

  public var site: Name
  /// Where the files lie on the broker's machine: absolute.
  public var folder: String
  public var deviceListener: Listener
  public var operatorListener: Listener
  /// The account that mosquitto runs as when it is started as root; nil: its own default.
  public var user: String?

  public struct Listener: Hashable, Sendable {
    public var address: String
    public var port: Int

    public init(address: String, port: Int) {
      self.address = address
      self.port = port
    }
  }

  public init(
    site: Name, folder: String, deviceListener: Listener, operatorListener: Listener, user: String? = nil
  ) {
    self.site = site
    self.folder = folder
    self.deviceListener = deviceListener
    self.operatorListener = operatorListener
    self.user = user
  }

  /// `mosquitto.conf` (mosquitto.conf(5)).
  public var main: String {
    """
    # Broker of site \(site). Clients are known by their certificate alone.
    per_listener_settings true
    \(user.map { "user \($0)\n" } ?? "")persistence true
    persistence_location \(folder)/data/
    autosave_interval 300
    persistent_client_expiration 14d
    log_dest stderr
    log_type error
    log_type warning
    log_type notice
    connection_messages true
    # A subscriber gets the retained messages of every device at once; beyond this number they would be dropped.
    max_queued_messages 400000
    max_queued_bytes 536870912
    max_inflight_messages 100
    max_packet_size 70000
    set_tcp_nodelay true

    # Devices: the client id is the name in the certificate, so that nobody takes over another's connection.
    \(listener(deviceListener, rules: Self.deviceRules))
    use_username_as_clientid true

    # Operators: the name in the certificate is the role, the client id is free, so that any number of tools run at once.
    \(listener(operatorListener, rules: Self.operatorRules))

    """
  }

  private func listener(_ listener: Listener, rules: String) -> String {
    """
    listener \(listener.port) \(listener.address)
    protocol mqtt
    cafile \(folder)/ca.pem
    certfile \(folder)/broker.pem
    keyfile \(folder)/broker.key
    tls_version tlsv1.2
    require_certificate true
    use_identity_as_username true
    allow_anonymous false
    acl_file \(folder)/\(rules)
    """
  }

  /// What a device may do: `%u` is the name in its certificate. The roles of the other listener are no devices.
  public var devices: String {
    let others = AccessRules.reserved.map { "user \($0)\ntopic deny #" }
    let sides = AccessRules(site).sides.filter { $0.role == nil }
    let lines = sides.flatMap { side in
      side.write.map { "pattern write \($0)" } + side.read.map { "pattern read \($0)" }
    }
    return (lines + others).joined(separator: "\n") + "\n"
  }

  /// What each role may do.
  public var operators: String {
    AccessRules(site).sides.compactMap { side in
      guard let role = side.role else { return nil }
      let lines = side.write.map { "topic write \($0)" } + side.read.map { "topic read \($0)" }
      return (["user \(role.rawValue)"] + lines).joined(separator: "\n") + "\n"
    }.joined(separator: "\n")
  }
}
