import CMicrohttpd
import Glibc
public import PosturePlatform
import Synchronization

/// An HTTP server by libmicrohttpd, one thread a connection: made for a few operators and a scraper, not for the world.
public final class HTTPServer: @unchecked Sendable {
  // `daemon` is set once in init and stopped once in `stop`, under the lock; the handler is Sendable and never changed.
  public typealias Handler = @Sendable (HTTPRequest) -> HTTPResponse

  private let daemon: Mutex<Daemon?>
  private let watch: ConnectionWatch
  private let handler: Handler
  private let headers: [(String, String)]

  private struct Daemon: @unchecked Sendable {
    // Touched under the lock that holds it.
    let pointer: OpaquePointer
  }

  /// Connections at once; one more is closed as it comes.
  private static let connections: Int = 128
  /// Bytes of a body that are read and thrown away; more is refused.
  private static let body = 65_536

  /// Serves on `socket`, which listens already; `headers` go with every answer.
  public init(
    _ socket: consuming Descriptor, headers: [(String, String)], limits: HTTPLimits = HTTPLimits(),
    handler: @escaping Handler
  ) throws(SystemError) {
    self.handler = handler
    self.headers = headers
    daemon = Mutex(nil)
    watch = try ConnectionWatch(limits)
    let number = socket.release()
    let flags =
      MHD_USE_INTERNAL_POLLING_THREAD.rawValue | MHD_USE_THREAD_PER_CONNECTION.rawValue | MHD_USE_POLL.rawValue
    // Owned by the daemon's callbacks, which end with `stop`.
    let me = Unmanaged.passUnretained(self).toOpaque()
    let options: [any CVarArg] = [
      MHD_OPTION.LISTEN_SOCKET.rawValue, number, MHD_OPTION.CONNECTION_LIMIT.rawValue, UInt32(Self.connections),
      MHD_OPTION.CONNECTION_TIMEOUT.rawValue, UInt32(limits.silence),
      MHD_OPTION.CONNECTION_MEMORY_LIMIT.rawValue, 32_768, MHD_OPTION.STRICT_FOR_CLIENT.rawValue, Int32(1),
      // A function is no argument of a variable list, its address is.
      MHD_OPTION.NOTIFY_CONNECTION.rawValue, unsafeBitCast(Self.notify, to: OpaquePointer.self), OpaquePointer(me),
      MHD_OPTION.NOTIFY_COMPLETED.rawValue, unsafeBitCast(Self.completed, to: OpaquePointer.self), OpaquePointer(me),
      MHD_OPTION.END.rawValue,
    ]
    let started = withVaList(options) {
      MHD_start_daemon_va(flags, 0, nil, nil, Self.access, me, $0)
    }
    guard let started else {
      close(number)
      watch.stop()
      throw .current("start HTTP server")
    }
    daemon.withLock { $0 = Daemon(pointer: started) }
  }

  deinit { stop() }

  /// Closes every connection and waits for its thread.
  public func stop() {
    let pointer = daemon.withLock { $0.take()?.pointer }
    if let pointer { MHD_stop_daemon(pointer) }
    watch.stop()
  }

  private static let notify: MHD_NotifyConnectionCallback = { me, connection, _, what in
    guard let me, let connection else { return }
    let watch = Unmanaged<HTTPServer>.fromOpaque(me).takeUnretainedValue().watch
    // MHD_CONNECTION_NOTIFY_STARTED, whose imported name differs between versions of the header.
    if what.rawValue == 0 {
      watch.began(UInt(bitPattern: connection), socket: cmicrohttpd_socket(connection))
    } else {
      watch.ended(UInt(bitPattern: connection))
    }
  }

  private static let completed: MHD_RequestCompletedCallback = { me, connection, _, _ in
    guard let me, let connection else { return }
    Unmanaged<HTTPServer>.fromOpaque(me).takeUnretainedValue().watch.answered(UInt(bitPattern: connection))
  }

  private static let access: MHD_AccessHandlerCallback = { me, connection, url, method, _, _, uploaded, context in
    guard let me, let connection, let url, let method, let uploaded, let context else { return .NO }
    let server = Unmanaged<HTTPServer>.fromOpaque(me).takeUnretainedValue()
    // The first call brings the headers, later ones a body, the last one wants the answer.
    if context.pointee == nil {
      context.pointee = me
      return isTooLarge(values(connection, .HEADER_KIND))
        ? server.answer(connection, HTTPResponse(413, text: "no body is wanted here\n")) : .YES
    }
    if uploaded.pointee > 0 {
      uploaded.pointee = 0
      return .YES
    }
    let request = HTTPRequest(
      method: String(cString: method), path: String(cString: url), query: values(connection, .GET_ARGUMENT_KIND),
      headers: values(connection, .HEADER_KIND))
    // What is being worked on is no slow client.
    server.watch.works(UInt(bitPattern: connection))
    return server.answer(connection, server.handler(request))
  }

  /// A body of unknown length may be of any.
  private static func isTooLarge(_ headers: [String: String]) -> Bool {
    if headers["transfer-encoding"] != nil { return true }
    return headers["content-length"].map { Int($0).map { $0 > body } ?? true } ?? false
  }

  private static func values(_ connection: OpaquePointer, _ kind: MHD_ValueKind) -> [String: String] {
    final class Collector { var values: [String: String] = [:] }
    let collector = Collector()
    let collect: MHD_KeyValueIterator = { collector, kind, key, value in
      guard let collector, let key else { return .YES }
      let name = String(cString: key)
      Unmanaged<Collector>.fromOpaque(collector).takeUnretainedValue()
        .values[kind == .HEADER_KIND ? name.lowercased() : name] = value.map { String(cString: $0) } ?? ""
      return .YES
    }
    MHD_get_connection_values(connection, kind, collect, Unmanaged.passUnretained(collector).toOpaque())
    return collector.values
  }

  private func answer(_ connection: OpaquePointer, _ response: HTTPResponse) -> MHD_Result {
    let made =
      switch response.body {
      case .bytes(let bytes): Self.make(bytes)
      case .stream(let stream): Self.make(stream)
      }
    guard let made else { return .NO }
    defer { MHD_destroy_response(made) }
    let isStream = if case .stream = response.body { true } else { false }
    watch.answers(UInt(bitPattern: connection), isStream: isStream)
    MHD_add_response_header(made, "Content-Type", response.type)
    for (name, value) in headers { MHD_add_response_header(made, name, value) }
    return MHD_queue_response(connection, response.status, made)
  }

  private static func make(_ bytes: [UInt8]) -> OpaquePointer? {
    var bytes = bytes
    return bytes.withUnsafeMutableBytes {
      MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
    }
  }

  private static func make(_ stream: any HTTPStream) -> OpaquePointer? {
    MHD_create_response_from_callback(
      UInt64.max, 8_192,
      { reader, _, buffer, room in
        guard let reader, let buffer else { return -1 }
        return Unmanaged<Reader>.fromOpaque(reader).takeUnretainedValue().fill(buffer, room)
      },
      Unmanaged.passRetained(Reader(stream)).toOpaque(),
      { reader in
        guard let reader else { return }
        Unmanaged<Reader>.fromOpaque(reader).takeRetainedValue().stream.close()
      })
  }

  /// Hands a stream's bytes over in the portions that the library asks for. Used by one connection's thread.
  private final class Reader {
    let stream: any HTTPStream
    private var rest: ArraySlice<UInt8> = []

    init(_ stream: any HTTPStream) { self.stream = stream }

    func fill(_ buffer: UnsafeMutablePointer<CChar>, _ room: Int) -> Int {
      while rest.isEmpty {
        // -1: the end (MHD_CONTENT_READER_END_OF_STREAM, a cast that is not imported).
        guard let more = stream.read() else { return -1 }
        rest = more[...]
      }
      let count = min(room, rest.count)
      rest.withUnsafeBytes { _ = memcpy(buffer, $0.baseAddress!, count) }
      rest = rest.dropFirst(count)
      return count
    }
  }
}
