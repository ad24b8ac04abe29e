public enum ProtocolVersion: Hashable, Sendable {
  case v5
  /// MQTT 3.1.1: no properties, no reasons.
  case v311
}

/// A reason code of CONNACK, DISCONNECT, SUBACK or PUBACK (MQTT 5, 2.4), or a return code of a 3.1.1 CONNACK.
public struct ReasonCode: Hashable, Sendable, CustomStringConvertible {
  public let value: UInt8
  public init(_ value: UInt8) { self.value = value }

  public static let notAuthorized = ReasonCode(135)
  public static let sessionTakenOver = ReasonCode(142)

  public var isSuccess: Bool { value < 128 }

  /// What to do about a connection that ended with a code.
  public enum Kind: Hashable, Sendable {
    /// It may work in a moment.
    case soon
    /// Somebody has to change something first: the certificate, the access list, the other client of this name.
    case later
    /// The broker does not speak this version of the protocol.
    case version
  }

  /// The kind of a CONNACK's refusal.
  public func refusal(_ version: ProtocolVersion) -> Kind {
    switch (version, value) {
    case (_, 1), (.v5, 132): .version
    // A 3.1.1 broker counts from 1 to 5; 3 is "server unavailable".
    case (.v311, 3): .soon
    case (.v311, _): .later
    case (.v5, _): disconnection
    }
  }

  /// The kind of a DISCONNECT that the broker sent.
  public var disconnection: Kind {
    switch value {
    // Client identifier, user name, authorization, ban, method, and what the packet itself asks for.
    case 133, 134, 135, 138, 140, 142, 143, 144, 148, 149, 152...158, 161, 162: .later
    default: .soon
    }
  }

  public var description: String { "\(name) (\(value))" }

  private var name: String {
    switch value {
    case 0: "success"
    case 1, 132: "unsupported protocol version"
    case 2, 133: "client identifier not valid"
    case 3, 136: "server unavailable"
    case 4, 134: "bad user name or password"
    case 5, 135: "not authorized"
    case 129: "malformed packet"
    case 130: "protocol error"
    case 137: "server busy"
    case 138: "banned"
    case 139: "server shutting down"
    case 140: "bad authentication method"
    case 141: "keep alive timeout"
    case 142: "session taken over: another client uses this identity"
    case 143: "topic filter invalid"
    case 144: "topic name invalid"
    case 147: "receive maximum exceeded"
    case 148: "topic alias invalid"
    case 149: "packet too large"
    case 150: "message rate too high"
    case 151: "quota exceeded"
    case 152: "administrative action"
    case 153: "payload format invalid"
    case 154: "retain not supported"
    case 155: "QoS not supported"
    case 156: "use another server"
    case 157: "server moved"
    case 159: "connection rate exceeded"
    case 160: "maximum connect time"
    default: "unspecified error"
    }
  }
}

/// Why a connection ended, or never came to be.
public struct Loss: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: Hashable, Sendable {
    /// No name, no route, no TLS: the broker never saw our CONNECT.
    case transport
    /// CONNACK said no.
    case refused(ReasonCode)
    /// The broker sent DISCONNECT.
    case disconnected(ReasonCode)
    /// The connection was closed or reset.
    case closed
    /// No answer in time: of the handshake, to a SUBSCRIBE, to a PUBLISH, or to a ping.
    case silent
    /// A packet that is larger than we take, or that the protocol does not allow.
    case nonsense
    /// This machine slept for longer than the connection can have lived.
    case slept
  }

  public var code: Code
  public var text: String

  public init(_ code: Code, _ text: String = "") {
    self.code = code
    self.text = text
  }

  /// The broker may hold our will.
  public var mayHaveReached: Bool { code != .transport }

  public var description: String {
    let what =
      switch code {
      case .transport: "cannot connect"
      case .refused(let reason): "refused: \(reason)"
      case .disconnected(let reason): "disconnected by the broker: \(reason)"
      case .closed: "connection closed"
      case .silent: "no answer"
      case .nonsense: "protocol violated"
      case .slept: "woken from sleep"
      }
    return text.isEmpty ? what : "\(what): \(text)"
  }
}
