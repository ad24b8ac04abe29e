import CDBus
import Glibc
import PosturePlatform

/// One connection of our own to a message bus (libdbus). Every call has a timeout, and starts no service unless told to.
final class MessageBus {
  enum Failure: Error, Hashable, Sendable {
    /// No bus, or it would not have us.
    case noBus(String)
    /// The answer is an error, by its D-Bus name.
    case error(String)
    case timeout
    case malformed
  }

  private static let bus = "org.freedesktop.DBus"

  /// Where the bus of the whole system listens.
  static var system: String {
    getenv("DBUS_SYSTEM_BUS_ADDRESS").map { String(cString: $0) } ?? "unix:path=/run/dbus/system_bus_socket"
  }

  private let connection: OpaquePointer
  /// ``Clock/boottimeMilliseconds`` after which every call fails.
  private let deadline: Int64

  init(_ address: String, deadline: Int64) throws(Failure) {
    self.deadline = deadline
    var error = DBusError()
    dbus_error_init(&error)
    defer { dbus_error_free(&error) }
    guard let opened = dbus_connection_open_private(address, &error) else {
      throw .noBus(error.name.map { String(cString: $0) } ?? "")
    }
    connection = opened
    // Otherwise libdbus would end this process with the bus.
    dbus_connection_set_exit_on_disconnect(connection, 0)
    try authenticate()
    // Not dbus_bus_register, which waits for 25 seconds.
    let hello = try call(Self.bus, "/org/freedesktop/DBus", Self.bus, "Hello")
    guard let name = hello.text else { throw .malformed }
    dbus_bus_set_unique_name(connection, name)
  }

  /// A call on a connection that is not authenticated yet waits without end for a bus that does not speak.
  private func authenticate() throws(Failure) {
    while dbus_connection_get_is_authenticated(connection) == 0 {
      let left = deadline - Clock.boottimeMilliseconds
      guard left > 0 else { throw .timeout }
      guard dbus_connection_read_write(connection, Int32(left)) != 0 else { throw .noBus("") }
    }
  }

  deinit {
    dbus_connection_close(connection)
    dbus_connection_unref(connection)
  }

  /// The unique name of whoever owns `name`; nil where nobody does.
  func owner(of name: String) throws(Failure) -> String? {
    do throws(Failure) {
      return try call(Self.bus, "/org/freedesktop/DBus", Self.bus, "GetNameOwner") { $0.string(name) }.text
    } catch {
      if error == .error("org.freedesktop.DBus.Error.NameHasNoOwner") { return nil }
      throw error
    }
  }

  func processID(of name: String) throws(Failure) -> UInt32? {
    try call(Self.bus, "/org/freedesktop/DBus", Self.bus, "GetConnectionUnixProcessID") { $0.string(name) }.number
      .map { UInt32(truncatingIfNeeded: $0) }
  }

  /// Calls a method and waits for its answer.
  func call(
    _ destination: String, _ path: String, _ interface: String, _ method: String, starts: Bool = false,
    _ arguments: (inout BusWriter) -> Void = { _ in }
  ) throws(Failure) -> BusReply {
    guard let message = dbus_message_new_method_call(destination, path, interface, method) else { throw .malformed }
    defer { dbus_message_unref(message) }
    dbus_message_set_auto_start(message, starts ? 1 : 0)
    var writer = BusWriter(message)
    arguments(&writer)
    let left = deadline - Clock.boottimeMilliseconds
    guard left > 0 else { throw .timeout }
    var error = DBusError()
    dbus_error_init(&error)
    defer { dbus_error_free(&error) }
    guard let reply = dbus_connection_send_with_reply_and_block(connection, message, Int32(left), &error) else {
      throw Self.failure(error)
    }
    defer { dbus_message_unref(reply) }
    return BusReply(reply)
  }

  private static func failure(_ error: DBusError) -> Failure {
    let name = error.name.map { String(cString: $0) } ?? ""
    switch name {
    case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout",
      "org.freedesktop.DBus.Error.TimedOut":
      return .timeout
    case "org.freedesktop.DBus.Error.Disconnected": return .noBus(name)
    default: return .error(name)
    }
  }
}

/// Type codes of D-Bus, which the header has as casts that Swift does not see.
private enum BusType {
  static let end: Int32 = 0
  static let array = code("a")
  static let boolean = code("b")
  static let byte = code("y")
  static let entry = code("e")
  static let number = code("u")
  static let path = code("o")
  static let signature = code("g")
  static let string = code("s")
  static let structure = code("r")
  static let variant = code("v")

  private static func code(_ letter: Unicode.Scalar) -> Int32 { Int32(letter.value) }
}

/// Writes the arguments of a call.
struct BusWriter {
  private var iterator = DBusMessageIter()

  fileprivate init(_ message: OpaquePointer) { dbus_message_iter_init_append(message, &iterator) }

  mutating func string(_ value: String) { basic(value, BusType.string) }
  mutating func path(_ value: String) { basic(value, BusType.path) }

  mutating func bool(_ value: Bool) {
    var value: dbus_bool_t = value ? 1 : 0
    dbus_message_iter_append_basic(&iterator, BusType.boolean, &value)
  }

  mutating func bytes(_ values: [UInt8]) {
    container(BusType.array, "y") { inner in
      for value in values {
        var value = value
        dbus_message_iter_append_basic(&inner.iterator, BusType.byte, &value)
      }
    }
  }

  mutating func variant(_ signature: String, _ fill: (inout BusWriter) -> Void) {
    container(BusType.variant, signature, fill)
  }

  mutating func structure(_ fill: (inout BusWriter) -> Void) { container(BusType.structure, nil, fill) }

  /// `signature` of one entry, with its braces.
  mutating func dictionary(_ signature: String, _ fill: (inout BusWriter) -> Void) {
    container(BusType.array, signature, fill)
  }

  mutating func entry(_ fill: (inout BusWriter) -> Void) { container(BusType.entry, nil, fill) }

  private mutating func basic(_ value: String, _ type: Int32) {
    value.withCString { text in
      var text: UnsafePointer<CChar>? = text
      dbus_message_iter_append_basic(&iterator, type, &text)
    }
  }

  private mutating func container(_ type: Int32, _ signature: String?, _ fill: (inout BusWriter) -> Void) {
    var inner = BusWriter()
    dbus_message_iter_open_container(&iterator, type, signature, &inner.iterator)
    fill(&inner)
    dbus_message_iter_close_container(&iterator, &inner.iterator)
  }

  private init() {}
}

/// The values of an answer.
struct BusReply: Hashable, Sendable {
  indirect enum Value: Hashable, Sendable {
    /// A string, an object path or a signature.
    case text(String)
    case bool(Bool)
    case number(UInt64)
    case bytes([UInt8])
    /// Array, structure, dictionary entry; a variant stands for its content.
    case list([Value])
    case other
  }

  let values: [Value]

  /// The first value, where it is one of these.
  var text: String? { if case .text(let value)? = values.first { value } else { nil } }
  var bool: Bool? { if case .bool(let value)? = values.first { value } else { nil } }
  var number: UInt64? { if case .number(let value)? = values.first { value } else { nil } }
  var list: [Value]? { if case .list(let values)? = values.first { values } else { nil } }

  private static let deepest = 8
  private static let mostValues = 4096

  fileprivate init(_ message: OpaquePointer) {
    var iterator = DBusMessageIter()
    guard dbus_message_iter_init(message, &iterator) != 0 else {
      values = []
      return
    }
    values = Self.read(&iterator, depth: 0)
  }

  private static func read(_ iterator: inout DBusMessageIter, depth: Int) -> [Value] {
    var values: [Value] = []
    while dbus_message_iter_get_arg_type(&iterator) != BusType.end, values.count < mostValues {
      values.append(value(&iterator, depth))
      dbus_message_iter_next(&iterator)
    }
    return values
  }

  private static func value(_ iterator: inout DBusMessageIter, _ depth: Int) -> Value {
    switch dbus_message_iter_get_arg_type(&iterator) {
    case BusType.string, BusType.path, BusType.signature:
      var text: UnsafePointer<CChar>?
      dbus_message_iter_get_basic(&iterator, &text)
      return text.map { .text(String(cString: $0)) } ?? .other
    case BusType.boolean:
      var value: dbus_bool_t = 0
      dbus_message_iter_get_basic(&iterator, &value)
      return .bool(value != 0)
    case BusType.byte:
      var value: UInt8 = 0
      dbus_message_iter_get_basic(&iterator, &value)
      return .number(UInt64(value))
    case BusType.number:
      var value: UInt32 = 0
      dbus_message_iter_get_basic(&iterator, &value)
      return .number(UInt64(value))
    case BusType.variant, BusType.array, BusType.structure, BusType.entry:
      return depth < deepest ? container(&iterator, depth) : .other
    default: return .other
    }
  }

  private static func container(_ iterator: inout DBusMessageIter, _ depth: Int) -> Value {
    let type = dbus_message_iter_get_arg_type(&iterator)
    let isBytes = type == BusType.array && dbus_message_iter_get_element_type(&iterator) == BusType.byte
    var inner = DBusMessageIter()
    dbus_message_iter_recurse(&iterator, &inner)
    let values = read(&inner, depth: depth + 1)
    if type == BusType.variant { return values.first ?? .other }
    guard isBytes else { return .list(values) }
    return .bytes(values.map { if case .number(let byte) = $0 { UInt8(truncatingIfNeeded: byte) } else { 0 } })
  }
}
