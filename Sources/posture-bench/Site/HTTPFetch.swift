import Glibc
import PosturePlatform

/// One GET from a server on loopback.
enum HTTPFetch {
  /// The body; nil where the server does not answer, or says anything but 200.
  static func body(port: UInt16, _ path: String) -> [UInt8]? {
    let socket = Descriptor(owning: Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    let request = "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n"
    guard connected == 0, (try? socket.writeAll(Array(request.utf8))) != nil,
      let answer = try? socket.readAll(cap: 64 << 20), answer.starts(with: "HTTP/1.1 200 ".utf8)
    else { return nil }
    let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
    guard let at = answer.indices.first(where: { answer[$0...].starts(with: end) }) else { return nil }
    return Array(answer[(at + 4)...])
  }
}
