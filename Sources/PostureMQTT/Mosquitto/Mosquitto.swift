import CLinux
import CMosquitto
import Glibc

/// One connection of libmosquitto, from CONNECT to its end. Only this file and those of its ``Sink`` and ``Properties``
/// know the library.
///
/// A new one is made for every attempt: the library keeps unacknowledged messages over a reconnect and sends them again,
/// which is the session's business, not its. It is used by one thread; the callbacks run inside ``read()`` and
/// ``write()`` and only collect.
final class Mosquitto {
  enum Happening {
    case connack(Session.Connack, keepalive: Int?)
    case suback(identifier: Int32, codes: [UInt8])
    case puback(identifier: Int32, ReasonCode)
    case message(Message)
    /// A message that is not for us to take.
    case dropped
    case lost(Loss)
  }

  struct Refusal: Error {
    let text: String
  }

  private let handle: OpaquePointer
  private let sink: Sink
  private let version: ProtocolVersion
  private var isEstablished = false
  /// Its ``Happening/lost(_:)`` has been given out.
  private(set) var isOver = false

  /// Bytes that one inbound packet may bring: a payload of 64 KiB with topic and properties, and TLS's own.
  static let packetCap = 160 << 10
  private static let receiveMaximum: Int32 = 64

  private static let start: Void = {
    mosquitto_lib_init()
    // A write to a connection that the peer has reset is an error here, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
  }()

  /// `clientID` nil: the broker chooses one.
  init(clientID: String?, version: ProtocolVersion) throws(Refusal) {
    _ = Self.start
    let sink = Sink(version: version)
    let context = Unmanaged.passUnretained(sink).toOpaque()
    guard let handle = mosquitto_new(clientID, true, context) else { throw Refusal(text: Self.text(errno: errno)) }
    self.handle = handle
    self.sink = sink
    self.version = version
    mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, version == .v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311)
    mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, Self.receiveMaximum)
    mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1)
    setCallbacks()
  }

  deinit { mosquitto_destroy(handle) }

  // MARK: Connecting

  func use(_ context: TLSContext) throws(Refusal) {
    try check(mosquitto_int_option(handle, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0))
    try check(mosquitto_void_option(handle, MOSQ_OPT_SSL_CTX, UnsafeMutableRawPointer(context.raw)))
  }

  func setCredentials(_ user: String, _ password: String) throws(Refusal) {
    try check(mosquitto_username_pw_set(handle, user, password))
  }

  func setWill(_ will: Publication) throws(Refusal) {
    var properties = try Properties(will, version).release()
    let result = will.payload.withUnsafeBytes {
      mosquitto_will_set_v5(
        handle, will.topic, Int32($0.count), $0.baseAddress, will.qos, will.retain, properties)
    }
    // The library takes the properties only if it takes the will.
    if result != 0 { mosquitto_property_free_all(&properties) }
    try check(result)
  }

  /// Begins to connect, without waiting. `address`: numeric, or with port 0 the path of a Unix socket.
  func connect(_ address: String, _ port: UInt16, keepalive: Int) throws(Refusal) {
    if version == .v5 { try setPacketCap() }
    let result = mosquitto_connect_async(handle, address, Int32(port), Int32(keepalive))
    guard result == 0 else { throw Refusal(text: sink.trouble ?? Self.text(result)) }
    if let ssl { sink.budget.watch(ssl) }
  }

  /// Asks the broker not to send larger packets. The library takes the properties of CONNECT only in its blocking call:
  /// one to a socket that cannot be there returns at once and keeps them for the next.
  private func setPacketCap() throws(Refusal) {
    var properties = Properties()
    try properties.add(MQTT_PROP_MAXIMUM_PACKET_SIZE, UInt32(Self.packetCap))
    _ = mosquitto_connect_bind_v5(handle, "/dev/null/none", 0, 60, nil, properties.list)
    sink.reset()
  }

  private var ssl: OpaquePointer? { mosquitto_ssl_get(handle).map { OpaquePointer($0) } }

  // MARK: The driver's side

  /// -1 where there is none.
  var descriptor: Int32 { mosquitto_socket(handle) }

  var wantsWrite: Bool {
    // While TLS shakes hands the library always wants to write, which would spin.
    if let ssl, !InboundBudget.isEstablished(ssl) { return InboundBudget.wantsWrite(ssl) }
    return !isEstablished || mosquitto_want_write(handle)
  }

  /// The socket can be read, or written, or has failed.
  func proceed(readable: Bool, writable: Bool, failed: Bool) -> [Happening] {
    let isShaking = ssl.map { !InboundBudget.isEstablished($0) } ?? false
    var result: Int32 = 0
    // During the handshake only the reading call goes on with it.
    if readable || failed || isShaking { result = isEstablished ? readAll() : guardedRead() }
    if result == 0, !sink.isLost, writable || isShaking || mosquitto_want_write(handle) {
      result = mosquitto_loop_write(handle, 1)
    }
    if !isEstablished { isEstablished = ssl.map(InboundBudget.isEstablished) ?? (result == 0 && !failed) }
    // A failed socket stays readable, and the library does not always call that an error.
    if failed, result == 0, !isEstablished { result = Int32(MOSQ_ERR_CONN_LOST.rawValue) }
    return collect(result)
  }

  /// Packets that are read in one go: each call of the library reads one, and acknowledges it.
  private static let burst = 64

  /// Reads what has come. From the second packet on the acknowledgements leave together.
  private func readAll() -> Int32 {
    var result: Int32 = 0
    var isCorked = false
    for number in 0..<Self.burst {
      let before = sink.packets
      result = guardedRead()
      guard result == 0, sink.packets > before, !sink.isLost, !sink.budget.isExceeded else { break }
      if number == 0 { isCorked = cork(true) }
    }
    if isCorked { cork(false) }
    return result
  }

  /// Whether what is written waits until it fills a segment (tcp(7)).
  @discardableResult
  private func cork(_ isOn: Bool) -> Bool {
    var value: Int32 = isOn ? 1 : 0
    return setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
  }

  /// In version 5 the library aborts the process over a property that it does not know (`log__printf` without a client).
  private func guardedRead() -> Int32 {
    let read: @convention(c) (OpaquePointer?, Int32) -> Int32 = mosquitto_loop_read
    return clinux_guarded(
      unsafeBitCast(read, to: (@convention(c) (UnsafeMutableRawPointer?, Int32) -> Int32).self),
      UnsafeMutableRawPointer(handle), 1, Self.asserted)
  }

  /// No code of the library.
  private static let asserted: Int32 = 9_999

  /// Sends a ping if one is due, and notices that the last one was not answered.
  func keepAlive() -> [Happening] { collect(mosquitto_loop_misc(handle)) }

  private func collect(_ result: Int32) -> [Happening] {
    var happenings = sink.take()
    guard !isOver else { return [] }
    let isLost = result != 0 || sink.isLost || sink.budget.isExceeded || sink.sawNonsense || descriptor < 0
    if isLost {
      isOver = true
      happenings.append(.lost(loss(result)))
    }
    return happenings
  }

  private func loss(_ result: Int32) -> Loss {
    if sink.budget.isExceeded { return Loss(.nonsense, "a packet of more than \(Self.packetCap) bytes") }
    if result == Self.asserted { return Loss(.nonsense, "an unknown property") }
    if sink.sawNonsense { return Loss(.nonsense, "a message of QoS 2") }
    if let reason = sink.disconnection { return Loss(.disconnected(reason)) }
    let code = result != 0 ? result : sink.lostWith ?? 0
    let text = sink.trouble ?? (code == 0 ? "" : Self.text(code))
    guard isEstablished else { return Loss(.transport, text) }
    switch mosq_err_t(rawValue: code) {
    case MOSQ_ERR_KEEPALIVE: return Loss(.silent, "a ping was not answered")
    case MOSQ_ERR_PROTOCOL, MOSQ_ERR_MALFORMED_PACKET, MOSQ_ERR_MALFORMED_UTF8, MOSQ_ERR_DUPLICATE_PROPERTY,
      MOSQ_ERR_TOPIC_ALIAS_INVALID, MOSQ_ERR_NOMEM:
      return Loss(.nonsense, text)
    default: return Loss(.closed, code == MOSQ_ERR_CONN_LOST.rawValue || code == 0 ? "" : text)
    }
  }

  // MARK: Packets

  /// The packet identifier.
  func subscribe(_ subscription: Subscription) throws(Refusal) -> Int32 {
    var identifier: Int32 = 0
    let options = subscription.wantsRetained ? MQTT_SUB_OPT_SEND_RETAIN_ALWAYS : MQTT_SUB_OPT_SEND_RETAIN_NEVER
    try check(
      mosquitto_subscribe_v5(
        handle, &identifier, subscription.filter, 1, version == .v5 ? Int32(options.rawValue) : 0, nil))
    return identifier
  }

  /// The packet identifier.
  func publish(_ publication: Publication) throws(Refusal) -> Int32 {
    let properties = try Properties(publication, version)
    var identifier: Int32 = 0
    let result = publication.payload.withUnsafeBytes {
      mosquitto_publish_v5(
        handle, &identifier, publication.topic, Int32($0.count), $0.baseAddress, publication.qos, publication.retain,
        properties.list)
    }
    try check(result)
    return identifier
  }

  /// Sends DISCONNECT with reason 0, so that the broker drops the will. Where the packet could be written at once, the
  /// library has closed the socket by then, and nothing else would tell.
  func leave() -> [Happening] {
    mosquitto_disconnect_v5(handle, 0, nil)
    return collect(0)
  }

  // MARK: Errors

  private func check(_ result: Int32) throws(Refusal) {
    guard result != 0 else { return }
    throw Refusal(text: Self.text(result))
  }

  private static func text(_ result: Int32) -> String {
    result == MOSQ_ERR_ERRNO.rawValue ? text(errno: errno) : String(cString: mosquitto_strerror(result))
  }

  private static func text(errno: Int32) -> String { String(cString: strerror(errno)) }

  // MARK: Callbacks

  private func setCallbacks() {
    mosquitto_log_callback_set(handle) { _, context, level, text in Sink.of(context)?.heard(level, text) }
    mosquitto_connect_v5_callback_set(handle) { _, context, reason, flags, properties in
      Sink.of(context)?.connack(UInt8(clamping: reason), flags, properties)
    }
    mosquitto_disconnect_v5_callback_set(handle) { _, context, result, _ in Sink.of(context)?.disconnected(result) }
    mosquitto_publish_v5_callback_set(handle) { _, context, identifier, reason, _ in
      Sink.of(context)?.add(.puback(identifier: identifier, ReasonCode(UInt8(clamping: reason))))
    }
    mosquitto_subscribe_v5_callback_set(handle) { _, context, identifier, count, codes, _ in
      let codes = UnsafeBufferPointer(start: codes, count: Int(count)).map { UInt8(clamping: $0) }
      Sink.of(context)?.add(.suback(identifier: identifier, codes: codes))
    }
    mosquitto_message_v5_callback_set(handle) { _, context, message, properties in
      if let message { Sink.of(context)?.received(message.pointee, properties) }
    }
  }
}
