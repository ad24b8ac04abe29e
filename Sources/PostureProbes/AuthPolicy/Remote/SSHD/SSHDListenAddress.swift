/// The value of ListenAddress (sshd_config(5)): `host`, `host:port`, `[host]:port`.
struct SSHDListenAddress: Hashable, Sendable {
  let host: String
  let port: Int?

  init(_ text: String) {
    // An IPv6 address without brackets has colons of its own.
    let hasPort = text.utf8.count { $0 == UInt8(ascii: ":") } == 1
    let end = text.hasPrefix("[") ? text.firstIndex(of: "]") : hasPort ? text.firstIndex(of: ":") : nil
    host = text[..<(end ?? text.endIndex)].filter { $0 != "[" }
    port = end.flatMap { text[$0...].split(separator: ":").last }.flatMap { Int($0) }
  }

  /// Every address of the machine may be the one that somebody connects to; a name is not looked up.
  var isAny: Bool { IPAddress(host)?.bytes.allSatisfy { $0 == 0 } ?? true }
}
