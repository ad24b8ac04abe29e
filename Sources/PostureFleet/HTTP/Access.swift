/// Who may ask the monitor.
public struct Access: Sendable {
  /// Names and addresses, with port, by which this monitor is reached on loopback; nil: any, the token decides. A page of
  /// elsewhere that had its own name resolved to this machine sends its own name.
  private let hosts: Set<String>?
  private let token: [UInt8]?

  public init(_ address: ListenAddress, port: UInt16, token: String?) {
    let names = ["localhost", "127.0.0.1", "[::1]", address.uriHost]
    // Browsers leave out the port that is HTTP's own.
    hosts = address.isLoopback ? Set(names.map { "\($0):\(port)" } + (port == 80 ? names : [])) : nil
    self.token = token.map { Array($0.utf8) }
  }

  func isKnownHost(_ request: HTTPRequest) -> Bool { hosts.map { $0.contains(request.headers["host"] ?? "") } ?? true }

  func isAllowed(_ request: HTTPRequest) -> Bool {
    guard let token else { return true }
    let prefix = "Bearer "
    guard let given = request.headers["authorization"], given.hasPrefix(prefix) else { return false }
    return Self.isEqual(Array(given.dropFirst(prefix.count).utf8), token)
  }

  /// Takes as long whatever the bytes are.
  private static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }

  /// A request that changes something comes from our own page: a header that no form can send, and our own origin.
  func isOurs(_ request: HTTPRequest) -> Bool {
    guard request.headers["x-posture"] != nil else { return false }
    guard let origin = request.headers["origin"] else { return true }
    return origin.split(separator: "/").last.map(String.init) == request.headers["host"]
  }
}
