public import Posture
public import PostureMQTT
import PostureTokens

/// The issuer online: answers devices that ask for a new credential, and keeps the trust document from ending.
public struct RenewalDesk {
  private let home: Home

  public init(_ home: Home) { self.home = home }

  /// A request and what became of it.
  public struct Answer: Sendable {
    public let device: Name
    /// When the new credential ends.
    public let until: Int64
    public let publication: Publication
  }

  /// The topics that requests come on.
  public var filter: String { "\(Topic.prefix)/\(home.site)/d/+/request" }

  /// Answers a request that came on `topic`. The same key is needed as at the enrolment, and one that has not been taken
  /// back. A credential is made longer in the last third of its life, or where another issuer or root is behind it now;
  /// asked for before, the answer ends when the present one does, so that asking often gains nothing.
  public func answer(_ bytes: [UInt8], on topic: String, at now: Int64) throws -> Answer {
    guard let place = Topic(topic), place.site == home.site, case .request(let device) = place.place else {
      throw HomeError(.refused, "\(topic): no requests come here")
    }
    let request = try EnrolmentRequest(bytes)
    guard request.claims.role == .device, request.claims.name == device else {
      throw HomeError(.refused, "\(device): the request is for somebody else")
    }
    guard let record = try DeviceRecord.load(device, kid: request.kid, in: home) else {
      throw HomeError(.refused, "\(device): not enrolled with the key \(request.kid)")
    }
    guard request.claims.keyProtection == record.protection else {
      throw HomeError(.refused, "\(device): enrolled with a key in a \(record.protection.rawValue)")
    }
    let state = try IssuerDesk(home).state
    guard !state.revokedKeys.contains(where: { $0.kid == request.kid }) else {
      throw HomeError(.refused, "\(device): its key has been revoked")
    }
    let (token, until) = try EnrolmentDesk(home).renew(request, record, at: now)
    return Answer(
      device: device, until: until,
      publication: Publication(
        Topic(home.site, .renewal(device)).text, text: token, retain: true,
        contentType: "application/\(TokenKind.renewal.rawValue)"))
  }

  /// Signs the next trust document where less than a third of the life of the present one is left. Gives its version.
  public func keepTrust(at now: Int64) throws -> Int64? {
    try home.locked(Home.File.trustFolder) {
      var desk = try IssuerDesk(home)
      guard try desk.store(at: now).needsRenewal(at: Moment(now)) else { return nil }
      try desk.signNext(at: now)
      return desk.state.version
    }
  }
}
