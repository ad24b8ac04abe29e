import CMosquitto
import Glibc

extension Mosquitto {
  /// What the callbacks of one connection have told.
  final class Sink {
    let budget = InboundBudget(cap: packetCap)
    private let version: ProtocolVersion
    private var happenings: [Happening] = []
    private(set) var isLost = false
    private(set) var disconnection: ReasonCode?
    private(set) var lostWith: Int32?
    private(set) var trouble: String?
    private(set) var sawNonsense = false
    /// That were read whole.
    private(set) var packets = 0

    init(version: ProtocolVersion) { self.version = version }

    static func of(_ context: UnsafeMutableRawPointer?) -> Sink? {
      context.map { Unmanaged<Sink>.fromOpaque($0).takeUnretainedValue() }
    }

    func add(_ happening: Happening) { happenings.append(happening) }

    func take() -> [Happening] {
      defer { happenings.removeAll(keepingCapacity: true) }
      return happenings
    }

    func reset() {
      happenings = []
      isLost = false
      lostWith = nil
      trouble = nil
    }

    /// The library logs one line for every packet that it has read whole.
    func heard(_ level: Int32, _ text: UnsafePointer<CChar>?) {
      guard let text else { return }
      if level == MOSQ_LOG_ERR { trouble = trouble ?? Self.reason(String(cString: text)) }
      // A search in a Swift string would cost more than the rest of the packet.
      guard strstr(text, " received ") != nil else { return }
      packets += 1
      budget.refill()
      // Nothing above QoS 1 was asked for; the library would keep such messages without bound.
      if strstr(text, " received PUBLISH (") != nil, strstr(text, ", q2,") != nil { sawNonsense = true }
    }

    /// "certificate verify failed" of "OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed".
    private static func reason(_ line: String) -> String {
      guard line.hasPrefix("OpenSSL Error"), let colon = line.lastIndex(of: ":") else { return line }
      return "TLS: \(line[line.index(after: colon)...])"
    }

    func connack(_ reason: UInt8, _ flags: Int32, _ properties: OpaquePointer?) {
      let receiveMaximum = Properties.int16(MQTT_PROP_RECEIVE_MAXIMUM, of: properties)
      let connack = Session.Connack(
        ReasonCode(reason), version, sessionPresent: flags & 1 != 0, receiveMaximum: receiveMaximum)
      add(.connack(connack, keepalive: Properties.int16(MQTT_PROP_SERVER_KEEP_ALIVE, of: properties)))
    }

    /// Above 127 it is the reason of the broker's DISCONNECT, below an error of the library.
    func disconnected(_ result: Int32) {
      isLost = true
      if result >= 128 { disconnection = ReasonCode(UInt8(clamping: result)) } else { lostWith = result }
    }

    func received(_ message: mosquitto_message, _ properties: OpaquePointer?) {
      guard let name = message.topic, strnlen(name, Message.topicCap + 1) <= Message.topicCap,
        let topic = String(validatingCString: name), Message.isDeliverable(topic)
      else { return add(.dropped) }
      let payload = message.payload.map {
        Array(UnsafeRawBufferPointer(start: $0, count: Int(message.payloadlen)))
      }
      add(
        .message(
          Message(
            topic: topic, payload: payload ?? [], qos: message.qos, retained: message.retain,
            responseTopic: Properties.string(MQTT_PROP_RESPONSE_TOPIC, of: properties),
            correlation: Properties.binary(MQTT_PROP_CORRELATION_DATA, of: properties))))
    }
  }
}
