/// A request as the handler sees it. Bodies are not taken: everything is in the path, the query and the headers.
public struct HTTPRequest: Hashable, Sendable {
  public var method: String
  public var path: String
  /// Names are compared as they are.
  public var query: [String: String]
  /// Names in lower case.
  public var headers: [String: String]

  public init(method: String, path: String, query: [String: String] = [:], headers: [String: String] = [:]) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
  }

  /// The parts of the path; an empty one is one, too, so that each place has one way to write it.
  var parts: [String] { path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init) }
}

/// Bytes that come as they come: read by the connection's own thread, which may wait.
public protocol HTTPStream: AnyObject, Sendable {
  /// Waits for more; nil at the end.
  func read() -> [UInt8]?
  /// The reader has gone.
  func close()
}

/// What is answered.
public struct HTTPResponse: Sendable {
  public enum Body: Sendable {
    case bytes([UInt8])
    case stream(any HTTPStream)
  }

  public var status: UInt32
  public var type: String
  public var body: Body

  public init(_ status: UInt32 = 200, type: String, _ body: Body) {
    self.status = status
    self.type = type
    self.body = body
  }

  public init(_ status: UInt32 = 200, text: String, type: String = "text/plain; charset=utf-8") {
    self.init(status, type: type, .bytes(Array(text.utf8)))
  }
}
