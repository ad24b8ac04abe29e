import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureFleet

/// Requests of people who mean no good, to the real server with everything behind it.
@Suite(.serialized) final class HostileHTTPTests {
  private let folder: Folder
  private let monitor: Monitor
  private let server: HTTPServer
  private let port: UInt16

  init() throws {
    folder = try Folder()
    let options = SiteBuilder.Options(
      site: Name("site-a")!, hosts: ["localhost"], deviceListener: .init(address: "127.0.0.1", port: 1),
      operatorListener: .init(address: "127.0.0.1", port: 2))
    let home = try SiteBuilder.build(folder.file("home"), options, at: Clock.wall)
    let monitor = try Monitor(home, history: try SQLiteHistory(path: folder.file("history.db")))
    self.monitor = monitor
    let address = ListenAddress(host: "127.0.0.1", port: 0)
    let listener = try address.listen()
    port = listener.port
    let api = MonitorAPI(
      monitor, Access(address, port: port, token: nil), asker: try RecheckAsker(home))
    server = try HTTPServer(listener.take(), headers: MonitorAPI.headers) { api.answer($0) }
  }

  deinit {
    monitor.hub.close()
    server.stop()
  }

  /// A connection as raw as it gets.
  private final class Wire {
    let number: Int32

    init(_ port: UInt16, seconds: Int = 5) throws {
      let client = try Loopback.connect(port)
      number = client.release()
      var limit = timeval(tv_sec: seconds, tv_usec: 0)
      setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(number) }

    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
      Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// What comes until the other side closes, or the time is over.
    func read() -> String {
      var all: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = recv(number, &buffer, buffer.count, 0)
        guard count > 0 else { return String(decoding: all, as: UTF8.self) }
        all += buffer[..<count]
      }
    }
  }

  private func ask(_ text: String) throws -> String {
    let wire = try Wire(port)
    wire.send(Array(text.utf8))
    return wire.read()
  }

  private func get(_ path: String, method: String = "GET", more: String = "") throws -> String {
    try ask("\(method) \(path) HTTP/1.1\r\nHost: localhost:\(port)\r\nConnection: close\r\n\(more)\r\n")
  }

  private func isAlive() throws -> Bool { try get("/").hasPrefix("HTTP/1.1 200") }

  @Test func `random bytes, and requests with random faults, harm nothing`() throws {
    var random = SplitMix(20_261_130)
    let good = Array(
      "GET /api/v1/devices?q=x&limit=3 HTTP/1.1\r\nHost: localhost:\(port)\r\nConnection: close\r\n\r\n".utf8)
    for round in 0..<600 {
      var bytes: [UInt8]
      if round % 3 == 0 {
        bytes = (0..<Int(random.next() % 2_000)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      } else {
        bytes = good
        for _ in 0...Int(random.next() % 6) {
          let at = Int(random.next() % UInt64(bytes.count))
          switch random.next() % 4 {
          case 0: bytes[at] = UInt8(truncatingIfNeeded: random.next())
          case 1: bytes.remove(at: at)
          case 2: bytes.insert(contentsOf: bytes[at...].prefix(40), at: at)
          default: bytes.insert(contentsOf: Array("%00%0d%0a%ff\r\n".utf8).prefix(Int(random.next() % 14)), at: at)
          }
          if bytes.isEmpty { bytes = good }
        }
      }
      let wire = try Wire(port, seconds: 1)
      wire.send(bytes)
      shutdown(wire.number, Int32(SHUT_WR))
      let answer = wire.read()
      #expect(answer.isEmpty || answer.hasPrefix("HTTP/1."), "round \(round)")
      #expect(!answer.contains(folder.path), "round \(round) tells a path of ours")
    }
    #expect(try isAlive())
  }

  @Test func `headers and lines without end are refused`() throws {
    let many = (0..<2_000).map { "X-\($0): \(String(repeating: "a", count: 50))\r\n" }.joined()
    for more in ["X-Long: \(String(repeating: "a", count: 1 << 20))\r\n", many] {
      let answer = try get("/", more: more)
      #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(answer.prefix(40))")
    }
    let long = try get("/" + String(repeating: "a", count: 1 << 20))
    #expect(long.isEmpty || long.hasPrefix("HTTP/1.1 4"))
    let query = (0..<3_000).map { "a\($0)=b" }.joined(separator: "&")
    let answer = try get("/api/v1/devices?\(query)")
    #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1"))
    #expect(try isAlive())
  }

  @Test func `no path leads out, whatever it is written like`() throws {
    for path in [
      "/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
      "/page.js/../../etc/passwd",
      "/api/v1/devices/..%2f..%2fx", "/api/v1/devices/%00", "/api/v1/devices/edge-1%00/report", "/\\..\\etc",
      "/api/v1/devices/edge-1/history/../..", "/static/page.js", "/PAGE.JS", "/api/v1/devices//", "/api/v1/",
    ] {
      let answer = try get(path)
      #expect(answer.hasPrefix("HTTP/1.1 404") || answer.hasPrefix("HTTP/1.1 400"), "\(path): \(answer.prefix(30))")
      #expect(!answer.contains("root:"), "\(path)")
    }
  }

  @Test func `only what is meant may be done, by the method that is meant`() throws {
    for method in ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "CONNECT", "FOO", "get"] {
      let answer = try get("/api/v1/fleet", method: method)
      #expect(answer.hasPrefix("HTTP/1.1 40") || answer.hasPrefix("HTTP/1.1 501"), "\(method): \(answer.prefix(30))")
    }
    #expect(try get("/metrics", method: "POST", more: "Content-Length: 0\r\n").hasPrefix("HTTP/1.1 404"))
    let head = try get("/", method: "HEAD")
    #expect(head.hasPrefix("HTTP/1.1 200") && head.hasSuffix("\r\n\r\n"))
    // Without a name of ours, or with two.
    #expect(try ask("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").hasPrefix("HTTP/1.1 4"))
    #expect(
      try ask("GET /api/v1/fleet HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").hasPrefix("HTTP/1.1 421")
    )
  }

  @Test func `a body is not wanted, and not waited for`() throws {
    let large = try get("/api/v1/devices/edge-1/recheck", method: "POST", more: "Content-Length: 99999999\r\n")
    #expect(large.hasPrefix("HTTP/1.1 413"), "\(large.prefix(30))")
    let chunked = try get("/api/v1/devices/x/recheck", method: "POST", more: "Transfer-Encoding: chunked\r\n")
    #expect(chunked.hasPrefix("HTTP/1.1 413"), "\(chunked.prefix(30))")
    for length in ["-1", "x", "99999999999999999999999"] {
      let answer = try get("/", method: "POST", more: "Content-Length: \(length)\r\n")
      #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(length): \(answer.prefix(30))")
    }
    #expect(try isAlive())
  }

  @Test func `every answer has the headers that keep a browser in bounds`() throws {
    for path in ["/", "/page.js", "/api/v1/fleet", "/metrics", "/nothing"] {
      let answer = try get(path).lowercased()
      for header in [
        "content-security-policy: default-src 'none'", "x-content-type-options: nosniff", "x-frame-options: deny",
      ] {
        #expect(answer.contains(header), "\(path): \(header)")
      }
      #expect(!answer.contains("unsafe-inline") && !answer.contains("unsafe-eval"))
    }
  }

  @Test(.enabled(if: Long.isWanted)) func `one byte now and then holds a connection for seconds only`() throws {
    let slow = try (0..<128).map { _ in try Wire(port, seconds: 1) }
    let start = Clock.boottimeMilliseconds
    let request = Array("GET / HTTP/1.1\r\nHost: localhost:\(port)\r\nX: ".utf8)
    for wire in slow { wire.send(request) }
    Clock.sleep(milliseconds: 500)
    // Full: one more is turned away at once, and told so by the end of the connection.
    #expect(try get("/") == "")
    #expect(Clock.boottimeMilliseconds - start < 5_000)
    while try !isAlive(), Clock.boottimeMilliseconds - start < 60_000 {
      for wire in slow { wire.send([UInt8(ascii: "a")]) }
      Clock.sleep(milliseconds: 500)
    }
    let took = Clock.boottimeMilliseconds - start
    #expect(took < (HTTPLimits().request + 5) * 1_000, "\(took) ms")
  }

  @Test func `a request that is worked on for longer than any limit is answered`() throws {
    var limits = HTTPLimits()
    (limits.request, limits.answer, limits.silence) = (1, 1, 1)
    let listener = try ListenAddress(host: "127.0.0.1", port: 0).listen()
    let port = listener.port
    let server = try HTTPServer(listener.take(), headers: [], limits: limits) { _ in
      Clock.sleep(milliseconds: 4_000)
      return HTTPResponse(text: "done")
    }
    let wire = try Wire(port, seconds: 30)
    wire.send(Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
    // Then it is silent, and ends.
    let answer = wire.read()
    #expect(answer.hasPrefix("HTTP/1.1 200") && answer.hasSuffix("done"), "\(answer)")
    server.stop()
  }

  @Test func `live updates are for a bounded number of readers, and who does not read holds up nobody`() throws {
    let readers = try (0..<80).map { _ in try Wire(port, seconds: 1) }
    for wire in readers {
      wire.send(Array("GET /api/v1/events HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n".utf8))
    }
    for _ in 0..<100 where monitor.hub.count < 64 { Clock.sleep(milliseconds: 20) }
    #expect(monitor.hub.count == 64)
    let text = String(repeating: "x", count: 100_000)
    let start = Clock.boottimeMilliseconds
    for _ in 0..<20 { monitor.hub.send("rows", text) }
    #expect(Clock.boottimeMilliseconds - start < 5_000)
    #expect(try isAlive())
  }
}
