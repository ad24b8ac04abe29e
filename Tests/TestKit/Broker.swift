import Glibc
import PosturePlatform
import Synchronization

/// A real mosquitto on loopback in its own folder: one listener with mutual TLS, one without TLS.
public final class Broker: Sendable {
  public struct Options: Sendable {
    /// Further lines of the configuration, before the listeners.
    public var lines: [String] = []
    /// Lines of the TLS listener.
    public var tlsLines: [String] = ["use_identity_as_username true"]
    /// Keeps retained messages over a restart.
    public var persists = false
    /// The broker's certificate.
    public var serverNames = "DNS:localhost,IP:127.0.0.1"
    public var serverDays = 30

    public init() {}
  }

  public static let program = "/usr/sbin/mosquitto"
  public static let isInstalled = access(program, X_OK) == 0

  public let folder: Folder
  public let workshop: CertificateWorkshop
  /// Mutual TLS.
  public let port: UInt16
  /// No TLS, anonymous.
  public let plainPort: UInt16
  private let process = Mutex<RunningProcess?>(nil)

  /// Started, and ready for connections.
  public init(_ options: Options = Options()) throws {
    folder = try Folder()
    workshop = try CertificateWorkshop(folder.path)
    port = try Loopback.freePort()
    plainPort = try Loopback.freePort()
    let server = try workshop.issue("localhost", names: options.serverNames, days: options.serverDays)
    try folder.write("mosquitto.conf", configuration(options, server))
    try start()
  }

  deinit { process.withLock { $0 }?.crash() }

  private func configuration(_ options: Options, _ server: CertificateWorkshop.Identity) -> String {
    let common = [
      // Started as root it would change to a user that cannot read the folder.
      "user root", "log_dest stderr", "log_type all", "allow_anonymous true", "per_listener_settings false",
      "persistence \(options.persists)", "persistence_location \(folder.path)/",
    ]
    let tls = [
      "listener \(port) 127.0.0.1", "cafile \(workshop.authorities)", "certfile \(server.certificate)",
      "keyfile \(server.key)", "require_certificate true",
    ]
    return (common + options.lines + tls + options.tlsLines + ["listener \(plainPort) 127.0.0.1"])
      .joined(separator: "\n") + "\n"
  }

  public func start() throws {
    let started = try RunningProcess(Self.program, ["-c", folder.file("mosquitto.conf")], log: folder.file("log"))
    process.withLock { $0 = started }
    for _ in 0..<500 {
      if Loopback.isOpen(port), Loopback.isOpen(plainPort) { return }
      if started.status != nil { break }
      usleep(10_000)
    }
    throw CertificateWorkshop.Failure(description: "mosquitto does not start: \(log.suffix(500))")
  }

  /// A clean end: clients are disconnected, retained messages saved where they persist.
  public func stop() { process.withLock { $0.take() }?.stop() }

  /// kill -9.
  public func crash() { process.withLock { $0.take() }?.crash() }

  /// SIGSTOP and SIGCONT: the broker is there and says nothing.
  public func freeze() { process.withLock { $0 }?.send(SIGSTOP) }
  public func thaw() { process.withLock { $0 }?.send(SIGCONT) }

  public func restart() throws {
    stop()
    try start()
  }

  /// A client certificate.
  public func identity(_ commonName: String) throws -> CertificateWorkshop.Identity { try workshop.issue(commonName) }

  /// What the broker has logged so far.
  public var log: String {
    guard let file = try? Descriptor.open(folder.file("log"), O_RDONLY), let bytes = try? file.readAll(cap: 64 << 20)
    else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }
}
