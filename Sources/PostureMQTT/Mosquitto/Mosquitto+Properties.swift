import CMosquitto
import Glibc

extension Mosquitto {
  /// A property list of MQTT 5.
  struct Properties: ~Copyable {
    private(set) var list: OpaquePointer?

    init() {}

    /// None on a 3.1.1 connection.
    init(_ publication: Publication, _ version: ProtocolVersion) throws(Refusal) {
      guard version == .v5 else { return }
      if publication.contentType != nil { try add(MQTT_PROP_PAYLOAD_FORMAT_INDICATOR, UInt8(1)) }
      if let expiry = publication.expiry { try add(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, expiry) }
      if let type = publication.contentType { try add(MQTT_PROP_CONTENT_TYPE, type) }
      if let topic = publication.responseTopic { try add(MQTT_PROP_RESPONSE_TOPIC, topic) }
      if let data = publication.correlation { try add(MQTT_PROP_CORRELATION_DATA, data) }
    }

    deinit {
      var list = list
      mosquitto_property_free_all(&list)
    }

    /// Gives the list away.
    consuming func release() -> OpaquePointer? {
      let list = list
      self.list = nil
      return list
    }

    private static func check(_ result: Int32) throws(Refusal) {
      guard result != 0 else { return }
      throw Refusal(text: String(cString: mosquitto_strerror(result)))
    }

    mutating func add(_ name: mqtt5_property, _ value: UInt8) throws(Refusal) {
      try Self.check(mosquitto_property_add_byte(&list, Int32(name.rawValue), value))
    }

    mutating func add(_ name: mqtt5_property, _ value: UInt32) throws(Refusal) {
      try Self.check(mosquitto_property_add_int32(&list, Int32(name.rawValue), value))
    }

    mutating func add(_ name: mqtt5_property, _ value: String) throws(Refusal) {
      try Self.check(mosquitto_property_add_string(&list, Int32(name.rawValue), value))
    }

    mutating func add(_ name: mqtt5_property, _ value: [UInt8]) throws(Refusal) {
      guard let count = UInt16(exactly: value.count) else { throw Refusal(text: "correlation data too long") }
      try Self.check(mosquitto_property_add_binary(&list, Int32(name.rawValue), value, count))
    }

    static func int16(_ name: mqtt5_property, of list: OpaquePointer?) -> Int? {
      var value: UInt16 = 0
      return mosquitto_property_read_int16(list, Int32(name.rawValue), &value, false) == nil ? nil : Int(value)
    }

    static func string(_ name: mqtt5_property, of list: OpaquePointer?) -> String? {
      var value: UnsafeMutablePointer<CChar>?
      guard mosquitto_property_read_string(list, Int32(name.rawValue), &value, false) != nil, let value else {
        return nil
      }
      defer { free(value) }
      return String(validatingCString: value)
    }

    static func binary(_ name: mqtt5_property, of list: OpaquePointer?) -> [UInt8]? {
      var value: UnsafeMutableRawPointer?
      var count: UInt16 = 0
      guard mosquitto_property_read_binary(list, Int32(name.rawValue), &value, &count, false) != nil else { return nil }
      defer { free(value) }
      return value.map { Array(UnsafeRawBufferPointer(start: $0, count: Int(count))) } ?? []
    }
  }
}
