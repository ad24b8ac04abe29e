public import Posture
import PostureTerminal
import PostureTokens

/// One verified report, printed in full.
public struct ReportLines {
  private let claims: ReportClaims
  private let kid: String
  private let now: Int64

  public init(_ claims: ReportClaims, kid: String, at now: Int64) {
    self.claims = claims
    self.kid = kid
    self.now = now
  }

  public func lines(width: Int, doors: Bool) -> [String] {
    let shape = EvidenceShape(claims.evidence)
    let evidence = EvidenceLines(shape.known)
    let body = evidence.checks(width: width) + (doors ? [""] + evidence.doors(width: width) : [])
    let remarks = [evidence.leftOut, shape.remark.map(Terminal.plain)].compactMap { $0 }
    return head + [""] + body + remarks.flatMap { ["", $0] } + ["", verdict]
  }

  private var head: [String] {
    let made = "\(Timestamp.text(claims.issuedAt)) (\(Span.text(now - claims.issuedAt)) ago)"
    let end =
      claims.expires.map { $0 > now ? "good until \(Timestamp.text($0))" : "past its time since \(Timestamp.text($0))" }
      ?? "by a clock that is not trusted"
    let chain = claims.chain.number == 0 ? "no event yet" : "\(claims.chain.number) events in \(claims.chain.chain)"
    return [
      "device    \(claims.issuer.name) of site \(claims.issuer.site)",
      "key       \(kid) (\(claims.keyProtection.rawValue))",
      "made      \(made), \(end)", "why now   \(claims.cause.rawValue), number \(claims.sequence)",
      "agent     \(Terminal.plain(claims.softwareVersion)), up \(Span.text(claims.uptime)), "
        + "watching \(claims.watch?.rawValue ?? "?")", "chain     \(chain)",
    ]
  }

  private var verdict: String {
    let required = Set(
      (claims.evidence["checks"]?.array ?? []).filter { $0["required"]?.bool == true }.compactMap {
        $0["check"]?.string
      })
    let waived = claims.measurements.filter { $0.result == .fail && !required.contains($0.check.rawValue) }
    let text =
      "verdict: \(claims.verdict.rawValue) (\(claims.policy.name))"
      + (waived.isEmpty ? "" : "; not required: " + waived.map { "\($0.check.rawValue) fail" }.joined(separator: ", "))
    return Terminal.paint(Terminal.plain(text), DeviceStatus.Standing.verdict(claims.verdict).colour)
  }
}
