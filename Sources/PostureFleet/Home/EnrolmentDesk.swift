public import Posture
import PosturePlatform
public import PostureTokens

/// Takes devices in: a request comes as a file, a bundle goes back.
public struct EnrolmentDesk {
  public struct Options: Hashable, Sendable {
    /// nil: what the device asked for.
    public var name: Name?
    public var groups: [Name] = []
    /// Seconds that credential and certificate are good for.
    public var life: Int64 = 365 * IssuerDesk.day
    /// Gives a name to a second key: for a device that lost its first one.
    public var replaces = false

    public init() {}
  }

  private let home: Home
  private let enrolment: Enrolment

  public init(_ home: Home) throws {
    self.home = home
    let identity = try Identity(.issuer, in: home)
    let authority = try CertificateAuthority(
      key: try Identity.key(home.path(Home.File.authorityKey)),
      certificate: try Certificate(pem: try Home.read(text: home.path(Home.File.authority))))
    enrolment = Enrolment(
      root: try home.root(),
      issuer: Issuer(party: identity.party, key: identity.key, credential: identity.credential), authority: authority,
      trust: try Home.read(text: home.path(Home.File.trust)))
  }

  /// A request as its file holds it, with its own signature checked.
  public static func request(_ file: String) throws -> EnrolmentRequest {
    let text = try Home.read(text: file)
    do { return try EnrolmentRequest(Array(text.utf8.filter { $0 != 0x0A && $0 != 0x0D })) } catch {
      throw HomeError(.damaged, "\(file): \(error)")
    }
  }

  /// Signs credential and certificate, and remembers the device.
  public func enroll(
    _ request: EnrolmentRequest, _ options: Options, at now: Int64
  ) throws -> EnrolmentBundle {
    let name = try self.name(for: request, options)
    let settings = home.settings
    let bundle = try enrolment.bundle(
      for: request, name: name, role: request.claims.role, groups: options.groups,
      broker: EnrolmentBundle.Broker(
        host: settings.host, port: Int(settings.devicePort), serverName: settings.serverName), at: now,
      until: now + options.life)
    let record = DeviceRecord(
      name: name, kid: request.kid, groups: options.groups, protection: request.claims.keyProtection, issued: now,
      expires: now + options.life)
    try record.save(in: home, credential: bundle.credential)
    return bundle
  }

  /// The answer to a device that is enrolled, and when its new credential ends (``RenewalDesk``).
  func renew(_ request: EnrolmentRequest, _ record: DeviceRecord, at now: Int64) throws -> (token: String, until: Int64)
  {
    let life = record.expires - record.issued
    let isDue = now >= record.expires - life / 3
    let until = try isDue || isOfOthers(record, at: now) ? now + life : record.expires
    var options = Options()
    (options.name, options.groups, options.life) = (record.name, record.groups, until - now)
    options.replaces = true
    let bundle = try enroll(request, options, at: now)
    // Its life stays what it was at the enrolment, however often it asks.
    var kept = record
    (kept.issued, kept.expires) = (until - life, until)
    try kept.save(in: home, credential: bundle.credential)
    return (
      try enrolment.issuer.renewal(
        of: bundle.party, credential: bundle.credential, tlsCertificate: bundle.tlsCertificate, at: now), until
    )
  }

  /// Another issuer, or one under another root, signed what the device has.
  private func isOfOthers(_ record: DeviceRecord, at now: Int64) throws -> Bool {
    var anchors = try IssuerDesk.anchors(home, IssuerDesk(home).state.rotations, at: now)
    let present = try anchors.credential(Array(enrolment.issuer.credential.utf8))
    let issuer = try anchors.credential(Array(record.credential(in: home).utf8)).issuer
    return issuer?.kid != present.kid || issuer?.signer != present.signer
  }

  private func name(for request: EnrolmentRequest, _ options: Options) throws(HomeError) -> Name {
    guard request.claims.role == .device else {
      throw HomeError(
        .refused, "the request is for a \(request.claims.role.rawValue): only devices are enrolled this way")
    }
    guard let name = options.name ?? request.claims.name else {
      throw HomeError(.refused, "the request names no device: give --name")
    }
    guard !AccessRules.reserved.contains(name.description) else {
      throw HomeError(.refused, "\(name): the name of a role")
    }
    if options.replaces { return name }
    let others = try DeviceRecord.all(in: home).filter { $0.name == name && $0.kid != request.kid }
    guard others.isEmpty else {
      throw HomeError(
        .refused, "\(name): enrolled already with another key (\(others[0].kid)); give --replace to add this one")
    }
    return name
  }
}
