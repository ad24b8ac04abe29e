/// A message to publish.
///
/// The properties of MQTT 5 are conveniences: on a 3.1.1 connection they are left out.
public struct Publication: Hashable, Sendable {
  public var topic: String
  public var payload: [UInt8]
  /// 0 or 1.
  public var qos: Int32
  public var retain: Bool
  /// Seconds after which the broker forgets the message.
  public var expiry: UInt32?
  public var contentType: String?
  public var responseTopic: String?
  public var correlation: [UInt8]?
  /// Those of one row, a number that only grows, come in their order: where one was not sent, or its connection was lost,
  /// what follows of the row is not sent either.
  public var row: Int?

  public init(
    _ topic: String, _ payload: [UInt8], qos: Int32 = 1, retain: Bool = false, expiry: UInt32? = nil,
    contentType: String? = nil, responseTopic: String? = nil, correlation: [UInt8]? = nil
  ) {
    self.topic = topic
    self.payload = payload
    self.qos = qos
    self.retain = retain
    self.expiry = expiry
    self.contentType = contentType
    self.responseTopic = responseTopic
    self.correlation = correlation
  }

  /// UTF-8 text (payload format 1).
  public init(
    _ topic: String, text: String, retain: Bool = false, expiry: UInt32? = nil, contentType: String? = nil
  ) {
    self.init(topic, Array(text.utf8), retain: retain, expiry: expiry, contentType: contentType)
  }
}

/// A message that the broker delivered.
public struct Message: Hashable, Sendable {
  public var topic: String
  public var payload: [UInt8]
  public var qos: Int32
  /// The broker had kept it; it is not sent now.
  public var retained: Bool
  public var responseTopic: String?
  public var correlation: [UInt8]?

  public init(
    topic: String, payload: [UInt8], qos: Int32 = 1, retained: Bool = false, responseTopic: String? = nil,
    correlation: [UInt8]? = nil
  ) {
    self.topic = topic
    self.payload = payload
    self.qos = qos
    self.retained = retained
    self.responseTopic = responseTopic
    self.correlation = correlation
  }

  /// The payload where it is UTF-8.
  public var text: String? { String(validating: payload, as: UTF8.self) }

  /// Longest topic that is accepted, in bytes: twice what the names of ours can reach.
  public static let topicCap = 512

  /// A name under which a broker may deliver (MQTT 5, 4.7): no wildcard, no NUL, not the broker's own `$` tree.
  public static func isDeliverable(_ topic: String) -> Bool {
    let bytes = topic.utf8
    guard (1...topicCap).contains(bytes.count), bytes.first != UInt8(ascii: "$") else { return false }
    return bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "+") }
  }
}

/// What to receive.
public struct Subscription: Hashable, Sendable {
  public var filter: String
  /// False: what the broker had kept is not sent on subscribing (retain handling 2; on 3.1.1 it is, and is dropped here).
  public var wantsRetained: Bool

  public init(_ filter: String, wantsRetained: Bool = true) {
    self.filter = filter
    self.wantsRetained = wantsRetained
  }
}
