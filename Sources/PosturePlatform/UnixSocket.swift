import CLinux
public import Glibc

/// Stream sockets of the Unix family (unix(7)), by path. None of them raises SIGPIPE: write with ``send(_:_:)``.
public enum UnixSocket {
  /// Listens at `path`, whose old socket is removed. Only `owner` (and root) may connect; nil: this process's user.
  /// - Parameter folder: the mode of the folder that it lies in, which is made where it is missing.
  public static func listen(
    _ path: String, owner: UInt32? = nil, folder mode: mode_t? = nil
  ) throws(SystemError) -> Descriptor {
    let listener = try make()
    let folder = Path.folder(of: path)
    // Whatever umask this process was started with.
    if let mode, mkdir(folder, mode) == 0 { chmod(folder, mode) }
    unlink(path)
    // Nobody may connect before the owner is set. A socket's mode becomes that of its file; the mask of the process would
    // be every thread's.
    try retrying("chmod", path) { fchmod(listener.number, 0o600) }
    try withAddress(path) { address, size throws(SystemError) in
      _ = try retrying("bind", path) { bind(listener.number, address, size) }
    }
    if let owner { try retrying("chown", path) { chown(path, owner, gid_t.max) } }
    try retrying("listen", path) { Glibc.listen(listener.number, 16) }
    return listener
  }

  /// Not blocking: where the listener's queue is full it fails with EAGAIN, and so does a read that finds nothing.
  public static func connect(_ path: String, isBlocking: Bool = true) throws(SystemError) -> Descriptor {
    let socket = try make()
    if !isBlocking { _ = fcntl(socket.number, F_SETFL, O_NONBLOCK) }
    try withAddress(path) { address, size throws(SystemError) in
      _ = try retrying("connect", path) { Glibc.connect(socket.number, address, size) }
    }
    return socket
  }

  /// The user of the process at the other end; nil where the system does not say.
  public static func peer(_ socket: Int32) -> UInt32? { UInt32(exactly: clinux_peer_uid(socket)) }

  /// The next connection, not blocking; nil where there is none.
  public static func accept(_ listener: Int32) -> Descriptor? {
    let number = clinux_accept(listener)
    return number < 0 ? nil : Descriptor(owning: number)
  }

  /// Writes what fits: the number of bytes.
  public static func send(_ socket: Int32, _ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
    do throws(SystemError) {
      return try retrying("send") {
        bytes.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      }
    } catch {
      guard error.errno == EAGAIN else { throw error }
      return 0
    }
  }

  private static func make() throws(SystemError) -> Descriptor {
    Descriptor(
      owning: try retrying("socket") { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0) })
  }

  private static func withAddress<Result>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard path.utf8.count < room else { throw SystemError(ENAMETOOLONG, doing: "socket", path: path) }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        Swift.Result { () throws(SystemError) in try body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size)) }
      }
    }
    return try result.get()
  }
}
