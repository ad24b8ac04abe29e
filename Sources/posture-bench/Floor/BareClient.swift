import CLinux
import CMosquitto
import Glibc
import PostureMQTT
import PosturePlatform

/// libmosquitto with as little around it as there can be: the floor of everything that talks to a broker. For one
/// thread.
final class BareClient {
  /// The topic's last level but one or two tells who it is from; the floor only counts and verifies.
  var onMessage: (String) -> Void = { _ in }
  private(set) var isConnected = false
  private(set) var subscribed = 0
  private(set) var taken = 0
  private var trouble: String?

  private let handle: OpaquePointer
  private let tls: BareTLS

  /// Seconds; nobody pings, and ten thousand others may connect before there is anything to do.
  private static let keepalive: Int32 = 3_600

  private static let start: Void = {
    mosquitto_lib_init()
    signal(SIGPIPE, SIG_IGN)
  }()

  /// Connects and waits for CONNACK.
  init(_ clientID: String?, _ files: TLSFiles, port: UInt16) throws(BenchError) {
    _ = Self.start
    tls = try BareTLS(files)
    guard let handle = mosquitto_new(clientID, true, nil) else { throw BenchError("mosquitto_new") }
    self.handle = handle
    mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
    mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5)
    mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, 64)
    mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1)
    mosquitto_int_option(handle, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0)
    mosquitto_void_option(handle, MOSQ_OPT_SSL_CTX, UnsafeMutableRawPointer(tls.raw))
    setCallbacks()
    let result = mosquitto_connect(handle, "127.0.0.1", Int32(port), Self.keepalive)
    guard result == 0 else { throw BenchError("connect: \(String(cString: mosquitto_strerror(result)))") }
    try wait(20, "CONNACK") { $0.isConnected }
  }

  deinit { mosquitto_destroy(handle) }

  private func setCallbacks() {
    mosquitto_connect_callback_set(handle) { _, context, result in
      if result == 0 { BareClient.of(context).isConnected = true }
    }
    mosquitto_disconnect_callback_set(handle) { _, context, result in
      BareClient.of(context).trouble = "disconnected (\(result))"
    }
    mosquitto_subscribe_callback_set(handle) { _, context, _, _, _ in BareClient.of(context).subscribed += 1 }
    mosquitto_publish_callback_set(handle) { _, context, _ in BareClient.of(context).taken += 1 }
    mosquitto_message_callback_set(handle) { _, context, message in
      if let topic = message?.pointee.topic { BareClient.of(context).onMessage(String(cString: topic)) }
    }
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> BareClient {
    // Every callback is set together with the context.
    Unmanaged<BareClient>.fromOpaque(context!).takeUnretainedValue()
  }

  var descriptor: Int32 { mosquitto_socket(handle) }
  var wantsWrite: Bool { mosquitto_want_write(handle) }

  func subscribe(_ filters: [String]) throws(BenchError) {
    let goal = subscribed + filters.count
    for filter in filters { mosquitto_subscribe(handle, nil, filter, 1) }
    try wait(20, "SUBACK") { $0.subscribed >= goal }
  }

  func publish(_ topic: String, _ payload: [UInt8], retain: Bool) throws(BenchError) {
    let result = mosquitto_publish(handle, nil, topic, Int32(payload.count), payload, 1, retain)
    guard result == 0 else { throw BenchError("publish: \(String(cString: mosquitto_strerror(result)))") }
  }

  /// The socket is ready.
  func proceed(readable: Bool) throws(BenchError) {
    var result: Int32 = 0
    if readable { result = mosquitto_loop_read(handle, 1) }
    if result == 0, wantsWrite { result = mosquitto_loop_write(handle, 1) }
    if result == 0, trouble == nil { return }
    throw BenchError("the floor's connection: \(trouble ?? String(cString: mosquitto_strerror(result)))")
  }

  /// Works until the condition holds.
  func wait(_ seconds: Int64, _ what: String, until isDone: (BareClient) -> Bool) throws(BenchError) {
    let end = Clock.boottimeMilliseconds + seconds * 1_000
    while !isDone(self) {
      guard Clock.boottimeMilliseconds < end else { throw BenchError("the floor waited in vain for \(what)") }
      let events = POLLIN | (wantsWrite ? POLLOUT : 0)
      var polled = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      if poll(&polled, 1, 100) > 0 { try proceed(readable: polled.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0) }
    }
  }
}
