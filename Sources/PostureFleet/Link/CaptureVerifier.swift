import Posture
import PosturePlatform
public import PostureTokens

/// Verifies captured tokens with the credentials among them, those that the folder holds, and those on the broker where
/// neither will do.
public final class CaptureVerifier {
  /// What a token turned out to be.
  public enum Finding: Sendable {
    case message(MonitorVerifier.Message)
    /// From now on messages of its key verify.
    case credential(Credential)

    /// The key that signs what the device says.
    public var kid: String {
      switch self {
      case .message(let message): message.kid
      case .credential(let credential): credential.kid
      }
    }
  }

  private let home: Home
  private let isOffline: Bool
  private var verifier: MonitorVerifier
  /// Devices whose credentials were looked for in the folder, and on the broker.
  private var prepared: Set<Name> = []
  private var asked: Set<Name> = []

  public init(_ home: Home, offline: Bool, at now: Int64) throws(HomeError) {
    self.home = home
    isOffline = offline
    verifier = MonitorVerifier(trust: try TrustMemory.load(home))
    for (file, topic) in localTrust {
      guard let text = try? Home.read(text: home.path(file)) else { continue }
      _ = verifier.receive(Array(text.utf8), on: topic, at: Moment(now))
    }
  }

  /// Throws ``TokenError`` for what does not verify, others where the credentials cannot be had.
  public func verify(_ text: String, at now: Int64) throws -> Finding {
    let captured = try CapturedToken(text)
    guard let topic = captured.topic, let device = topic.device else {
      throw TokenError(.typeNotHere, captured.kind.rawValue)
    }
    try prepare(for: device, at: now)
    if let finding = try receive(captured.bytes, topic, at: now) { return finding }
    if !isOffline {
      try ask(for: device)
      if let finding = try receive(captured.bytes, topic, at: now) { return finding }
    }
    throw captured.kind == .credential
      ? TokenError(.unknownRoot) : TokenError(.unknownKey, "no credential of \(device) at hand")
  }

  /// Whether the key is still good, by what is known now.
  public func standing(of finding: Finding, at now: Int64) -> MonitorVerifier.Standing {
    verifier.standing(of: finding.kid, at: Moment(now))
  }

  /// nil: who signed it is not known.
  private func receive(_ bytes: [UInt8], _ topic: Topic, at now: Int64) throws(TokenError) -> Finding? {
    switch verifier.receive(bytes, on: topic, at: Moment(now)).first {
    case .message(let message): return .message(message)
    case .credential(let credential, _): return .credential(credential)
    case .rejected(_, let error): throw error
    default: return nil
    }
  }

  private func prepare(for device: Name, at now: Int64) throws {
    guard prepared.insert(device).inserted else { return }
    for credential in try DeviceRecord.credentials(of: device, in: home) {
      _ = verifier.receive(Array(credential.utf8), on: Topic(home.site, .keys(device)), at: Moment(now))
    }
  }

  /// What an issuer's folder holds of the trust documents.
  private var localTrust: [(String, Topic)] {
    let parts = Home.names(in: home.path("trust")).filter { $0.hasPrefix("revoked-") }.count
    return [(Home.File.trust, Topic(home.site, .trust))]
      + (0..<parts).map { ("trust/revoked-\($0).jwt", RevokedClaims.topic(home.site, part: $0)) }
  }

  private func ask(for device: Name) throws {
    guard asked.insert(device).inserted else { return }
    let (fleet, link) = try Gathering.start(home, as: .monitor, ["d/\(device)/keys"], knowing: verifier)
    link.close()
    verifier = fleet.verifier
  }
}
