public import Posture
import PostureTerminal
import PostureTokens

/// Everything that is known of one device.
public struct DeviceDetail {
  public internal(set) var row: DeviceRow
  public var name: Name { device.name }
  private let device: DeviceState
  private let claims: ReportClaims?
  private let now: Int64
  /// What waits for an operator.
  public let breaches: [OpenBreach]

  /// nil where nothing is known.
  public init?(_ name: Name, in fleet: Fleet, at now: Int64) {
    guard let device = fleet.devices[name], let row = fleet.row(of: name, at: now) else { return nil }
    self.device = device
    self.row = row
    self.now = now
    claims = fleet.report(of: name).flatMap(Self.claims)
    breaches = device.breaches(row.conditions)
  }

  /// The report was verified when it was taken in.
  private static func claims(_ token: [UInt8]) -> ReportClaims? {
    try? ReportClaims(claims: TokenDecoder.decode(token, kinds: [.report]).unverifiedClaims())
  }

  /// What a command to a device without a clock has to repeat.
  public var challenge: String? { device.challenge }

  public func lines(width: Int) -> [String] {
    var lines = ["state     " + Terminal.paint(row.standing.text, row.standing.colour)]
    lines += row.conditions.map { "          \($0.rawValue): \($0.meaning) \($0.advice)" }
    if !row.why.isEmpty { lines.append("why       " + Terminal.plain(row.why)) }
    lines.append("online    " + (row.isOnline.map { $0 ? "yes" : "no" } ?? "not known"))
    lines.append("groups    " + (row.groups.isEmpty ? "none" : row.groups.joined(separator: " ")))
    if let due = row.duePolicy { lines.append("policy    \(row.policy ?? "none"), not yet \(due)") }
    if let since = row.since ?? row.knownSince, let span = row.span(at: now) {
      lines.append("since     \(Timestamp.text(since))\(row.since == nil ? " or earlier" : "") (\(span))")
    }
    if let expires = device.expires, expires < .max { lines.append("enrolled  until \(Timestamp.text(expires))") }
    lines.append("events    " + events)
    guard let claims, let kid = device.kid else { return lines }
    return lines + ReportLines(claims, kid: kid, at: now).lines(width: width, doors: true)
  }

  private var events: String {
    if row.conditions.contains(.chainBroken) { return device.chainTrouble }
    let missing = device.missingEvents.prefix(5).map { "\($0.lowerBound) to \($0.upperBound)" }
    if !missing.isEmpty { return "missing " + missing.joined(separator: ", ") }
    return device.declared ?? "complete as far as seen"
  }

  public var json: JSON {
    .build { object in
      for member in row.json.members ?? [] { object(member.name, member.value) }
      object("kid", .text(device.kid))
      object("enrolledUntil", device.expires.map { $0 == .max ? .null : .integer($0) } ?? .null)
      object("received", .integer(device.received))
      object("rejected", .count(device.rejections))
      object("replays", .count(device.replays))
      object("events", events(device))
      object("breaches", .array(breaches.map(\.json)))
      let shape = claims.map { EvidenceShape($0.evidence) }
      object("report", report(shape) ?? .null)
      object("unshown", .text(shape?.remark))
    }
  }

  /// With no more of the evidence than is of a known shape.
  private func report(_ shape: EvidenceShape?) -> JSON? {
    guard var claims, let shape else { return nil }
    claims.evidence = shape.known
    return claims.claims
  }

  private func events(_ device: DeviceState) -> JSON {
    [
      "chain": .text(device.report?.head?.chain), "eseq": device.report?.head.map { .integer($0.eseq) } ?? .null,
      "forked": .bool(device.isForked), "declaredLost": .integer(device.declaredLost),
      "declared": .text(device.declared),
      "missing": .array(device.missingEvents.prefix(100).map { [.integer($0.lowerBound), .integer($0.upperBound)] }),
      "started": .text(device.chainStart),
    ]
  }
}
