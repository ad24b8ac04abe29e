import Posture
import PosturePlatform
public import PostureTokens

/// Verifies captured tokens with the credentials that the folder holds, and those on the broker where it does not.
public final class CaptureVerifier {
  private let home: Home
  private let isOffline: Bool
  private var verifier: MonitorVerifier?
  private let credentials: [String]
  private var asked: Set<Name> = []

  public init(_ home: Home, offline: Bool, credentials: [String]) {
    self.home = home
    isOffline = offline
    self.credentials = credentials
  }

  /// Throws ``TokenError`` for what does not verify, others where the credentials cannot be had.
  public func verify(_ text: String, at now: Int64) throws -> MonitorVerifier.Message {
    let captured = try CapturedToken(text)
    guard let topic = captured.topic, topic.device != nil, captured.kind != .credential else {
      throw TokenError(.typeNotHere, captured.kind.rawValue)
    }
    try prepare(for: captured.issuer.name, at: now)
    var result = try receive(captured.bytes, topic, at: now)
    if result == nil, !isOffline {
      try ask(for: captured.issuer.name)
      result = try receive(captured.bytes, topic, at: now)
    }
    guard let result else { throw TokenError(.unknownKey, "no credential of \(captured.issuer.name) at hand") }
    return result
  }

  /// Whether the key is still good, by what is known now.
  public func standing(of message: MonitorVerifier.Message, at now: Int64) throws -> MonitorVerifier.Standing {
    verifier?.standing(of: message.kid, at: Moment(now)) ?? .awaitingKey
  }

  /// nil: the key is not known.
  private func receive(_ bytes: [UInt8], _ topic: Topic, at now: Int64) throws(TokenError) -> MonitorVerifier.Message? {
    switch verifier?.receive(bytes, on: topic.text, at: Moment(now)).last {
    case .message(let message): return message
    case .rejected(_, let error): throw error
    default: return nil
    }
  }

  private func prepare(for device: Name, at now: Int64) throws {
    var verifier = try self.verifier ?? start(at: now)
    let topic = Topic(home.site, .keys(device)).text
    for credential in credentials + (try DeviceRecord.credentials(of: device, in: home)) {
      _ = verifier.receive(Array(credential.utf8), on: topic, at: Moment(now))
    }
    self.verifier = verifier
  }

  private func start(at now: Int64) throws -> MonitorVerifier {
    var verifier = MonitorVerifier(trust: try TrustMemory.load(home))
    for (file, topic) in localTrust {
      guard let text = try? Home.read(text: home.path(file)) else { continue }
      _ = verifier.receive(Array(text.utf8), on: topic.text, at: Moment(now))
    }
    return verifier
  }

  /// What an issuer's folder holds of the trust documents.
  private var localTrust: [(String, Topic)] {
    let parts = Home.names(in: home.path("trust")).filter { $0.hasPrefix("revoked-") }.count
    return [(Home.File.trust, Topic(home.site, .trust))]
      + (0..<parts).map { ("trust/revoked-\($0).jwt", RevokedClaims.topic(home.site, part: $0)) }
  }

  private func ask(for device: Name) throws {
    guard asked.insert(device).inserted else { return }
    let (fleet, link) = try Gathering.start(home, as: .monitor, ["d/\(device)/keys"])
    link.close()
    verifier = fleet.verifier
  }
}
