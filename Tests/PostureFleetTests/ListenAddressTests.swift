import Testing

@testable import PostureFleet

/// Where the monitor listens, and by which names it is asked then.
@Suite struct ListenAddressTests {
  @Test func `an address is read as it is written`() {
    let good: [(String, String, UInt16)] = [
      ("8470", "127.0.0.1", 8_470), ("127.0.0.2:80", "127.0.0.2", 80), ("[::1]:8470", "::1", 8_470),
      ("0.0.0.0:0", "0.0.0.0", 0), ("monitor.example:443", "monitor.example", 443), ("[::]:65535", "::", 65_535),
    ]
    for (text, host, port) in good { #expect(ListenAddress(text) == ListenAddress(host: host, port: port), "\(text)") }
    let bad = ["", ":80", "[]:80", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1", "::1:80", "[::1]", "[x]:80"]
    for text in bad {
      #expect(ListenAddress(text) == nil, "\(text)")
    }
  }

  @Test func `only loopback needs no token`() {
    for text in ["80", "localhost:80", "127.0.0.2:80", "[::1]:80"] { #expect(ListenAddress(text)?.isLoopback == true) }
    for text in ["0.0.0.0:80", "[::]:80", "127.evil.example:80", "127.0.0.1.example:80", "10.0.0.1:80"] {
      #expect(ListenAddress(text)?.isLoopback == false, "\(text)")
    }
  }

  @Test func `it is asked by its own address, with the port where there has to be one`() throws {
    func isKnown(_ host: String, _ listen: String) throws -> Bool {
      let address = try #require(ListenAddress(listen))
      return Access(address, port: address.port, token: nil)
        .isKnownHost(HTTPRequest(method: "GET", path: "/", headers: ["host": host]))
    }
    for (listen, own) in [("127.0.0.2:8470", "127.0.0.2"), ("[::1]:8470", "[::1]"), ("8470", "127.0.0.1")] {
      #expect(try isKnown("\(own):8470", listen) && isKnown("localhost:8470", listen))
      for other in [own, "\(own):80", "evil.example:8470", "evil.example", ""] {
        #expect(try !isKnown(other, listen), "\(other)")
      }
    }
    for own in ["127.0.0.2", "127.0.0.2:80", "localhost", "[::1]"] { #expect(try isKnown(own, "127.0.0.2:80")) }
    #expect(try !isKnown("::1", "[::1]:80") && !isKnown("evil.example", "80"))
  }

  @Test(arguments: ["127.0.0.2:0", "[::1]:0", "localhost:0"]) func `it listens there`(_ text: String) throws {
    let listener = try #require(ListenAddress(text)).listen()
    #expect(listener.port > 0)
  }
}
