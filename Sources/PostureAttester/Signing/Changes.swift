import Posture

/// What is different between the last report and this one.
struct Changes {
  let from: Verdict?
  let to: Verdict
  let appeared: [EventClaims.Brief]
  let resolved: [EventClaims.Brief]
  /// The ledger's findings after it.
  let findings: [String: Ledger.Seen]

  /// More kinds of trouble than this are not told apart one by one.
  private static let cap = 4096

  /// - Parameter now: seconds since the epoch.
  init(_ evidence: Evidence, since ledger: Ledger, now: Int64) {
    from = ledger.verdict
    to = evidence.verdict
    var findings: [String: Ledger.Seen] = [:]
    var appeared: [EventClaims.Brief] = []
    for finding in evidence.findings.prefix(Self.cap) where findings[finding.identity] == nil {
      let brief = EventClaims.Brief(finding).withinBounds
      if ledger.findings[finding.identity] == nil { appeared.append(brief) }
      findings[finding.identity] = ledger.findings[finding.identity] ?? Ledger.Seen(brief: brief, since: now)
    }
    self.findings = findings
    self.appeared = appeared
    resolved = ledger.findings.filter { findings[$0.key] == nil }.sorted { $0.key < $1.key }.map(\.value.brief)
  }

  var isNone: Bool { from == to && appeared.isEmpty && resolved.isEmpty }

  func event(policy: String, report: Int64) -> EventClaims.Change {
    let most = EventClaims.mostFindings
    return EventClaims.Change(
      from: from, to: to, policy: policy, report: report, appeared: Array(appeared.prefix(most)),
      resolved: Array(resolved.prefix(most)),
      leftOut: Int64(max(0, appeared.count - most) + max(0, resolved.count - most)))
  }
}

extension EventClaims.Brief {
  /// Names come from the files of the device, which may say anything.
  fileprivate var withinBounds: EventClaims.Brief {
    EventClaims.Brief(
      code: code, check: check, subject: subject.cut, door: door?.cut)
  }
}

extension String {
  /// At most 128 bytes, so that 64 of them fit into one event, and at least one.
  fileprivate var cut: String {
    if isEmpty { return "?" }
    return utf8.count <= 128 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(30))) + "…"
  }
}
