import Glibc
public import PosturePlatform

/// TCP on loopback.
public enum Loopback {
  static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
    return address
  }

  static func withAddress<Result>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = address(port)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  /// A listening socket; `port` 0: a free one, see ``port(of:)``.
  public static func listen(_ port: UInt16 = 0) throws(SystemError) -> Descriptor {
    let listener = Descriptor(owning: try retrying("socket") { newSocket() })
    var one: Int32 = 1
    setsockopt(listener.number, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    try retrying("bind") { withAddress(port) { bind(listener.number, $0, $1) } }
    try retrying("listen") { Glibc.listen(listener.number, 64) }
    return listener
  }

  private static func newSocket() -> Int32 {
    socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
  }

  public static func port(of socket: borrowing Descriptor) -> UInt16 {
    var bound = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &bound) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket.number, $0, &size) }
    }
    return UInt16(bigEndian: bound.sin_port)
  }

  /// A port that was free a moment ago.
  public static func freePort() throws(SystemError) -> UInt16 { port(of: try listen()) }

  /// A connection.
  public static func connect(_ port: UInt16) throws(SystemError) -> Descriptor {
    let socket = Descriptor(owning: try retrying("socket") { newSocket() })
    let number = socket.number
    try retrying("connect") { withAddress(port) { Glibc.connect(number, $0, $1) } }
    return socket
  }

  /// Waits until somebody accepts connections; false after `milliseconds`.
  public static func waitUntilOpen(_ port: UInt16, _ milliseconds: Int64 = 5_000) -> Bool {
    let until = Clock.monotonicMilliseconds + milliseconds
    while !isOpen(port) {
      guard Clock.monotonicMilliseconds < until else { return false }
      Clock.sleep(milliseconds: 10)
    }
    return true
  }

  /// Somebody accepts connections.
  public static func isOpen(_ port: UInt16) -> Bool { (try? connect(port)) != nil }
}
