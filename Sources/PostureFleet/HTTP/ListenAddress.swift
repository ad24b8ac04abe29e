import Glibc
public import PosturePlatform

/// A socket that listens, and its port.
public struct Listener: ~Copyable {
  public let socket: Descriptor
  public let port: UInt16

  public consuming func take() -> Descriptor { socket }
}

/// Where the monitor listens: `ADDRESS:PORT`, `[ADDRESS]:PORT` or `PORT`, which is loopback.
public struct ListenAddress: Hashable, Sendable {
  public var host: String
  public var port: UInt16

  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  public init?(_ text: String) {
    let colon = text.lastIndex(of: ":")
    let port = colon.map { String(text[text.index(after: $0)...]) } ?? text
    var host = colon.map { String(text[..<$0]) } ?? "127.0.0.1"
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    if isBracketed { host = String(host.dropFirst().dropLast()) }
    guard let number = UInt16(port), !host.isEmpty, host.contains(":") == isBracketed else { return nil }
    self.init(host: host, port: number)
  }

  /// Only this machine reaches it.
  public var isLoopback: Bool {
    // A name may begin like an address.
    host == "localhost" || host == "::1" || (host.hasPrefix("127.") && host.allSatisfy("0123456789.".contains))
  }

  /// As it stands in a URI (RFC 3986, 3.2.2).
  public var uriHost: String { host.contains(":") ? "[\(host)]" : host }

  /// Port 0 takes a free one.
  public func listen() throws(SystemError) -> Listener {
    var hints = addrinfo()
    hints.ai_flags = AI_PASSIVE
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0, let list else {
      throw SystemError(EADDRNOTAVAIL, doing: "listen", path: host)
    }
    defer { freeaddrinfo(list) }
    let kind = list.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue)
    let socket = Descriptor(owning: try retrying("socket") { Glibc.socket(list.pointee.ai_family, kind, 0) })
    var one: Int32 = 1
    setsockopt(socket.number, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    try retrying("bind", "\(host):\(port)") { bind(socket.number, list.pointee.ai_addr, list.pointee.ai_addrlen) }
    try retrying("listen") { Glibc.listen(socket.number, 128) }
    let port = Self.port(of: socket)
    return Listener(socket: socket, port: port)
  }

  private static func port(of socket: borrowing Descriptor) -> UInt16 {
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(socket.number, $0, &size) }
      // The port lies at the same place in sockaddr_in and sockaddr_in6.
      return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
    }
  }
}
