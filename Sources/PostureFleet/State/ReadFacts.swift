public import Posture
import PostureTokens

extension JSONParser.Limits {
  /// Of a report what ``ReportFacts`` are read from; most of it is doors, and the signed report keeps them.
  static let facts = {
    var limits = message
    limits.excerpt = .all(but: [
      "evidence": .only([
        "verdict": nil, "policy": nil, "checks": nil,
        "findings": .only(["id": nil, "code": nil, "severity": nil, "subject": nil, "observed": nil]),
      ])
    ])
    return limits
  }()
}

extension ReportFacts {
  /// What the fleet keeps of a verified report.
  public init(_ claims: ReportClaims, kid: String, keyIssued: Int64, digest: String) {
    let evidence = EvidenceReading(claims.evidence)
    let required = evidence.required
    self.init(
      kid: kid, keyIssued: keyIssued, seq: claims.sequence, digest: digest, issued: claims.issuedAt,
      expires: claims.expires, verdict: claims.verdict, policy: claims.policy.name, policyDigest: claims.policy.digest,
      results: claims.measurements.map {
        Result($0.check, $0.result, isRequired: required.contains($0.check))
      },
      findings: evidence.worst(Self.keptFindings),
      unanswered: claims.verdict == .unknown ? evidence.unanswered(Self.keptFindings) : [], machine: claims.machine,
      boot: claims.bootSeed,
      head: ChainHead(chain: claims.chain.chain, eseq: claims.chain.number, digest: claims.chain.digest),
      nonces: claims.nonces)
  }

  /// Findings kept in memory; the signed report has them all.
  static let keptFindings = 6
}

/// The claim `evidence` as it is shown: what is not of the expected shape is passed over, for the agent may be newer.
struct EvidenceReading {
  private let json: JSON

  init(_ json: JSON) { self.json = json }

  var required: [CheckName] {
    requiredChecks.compactMap { $0["check"]?.string.flatMap(CheckName.init(rawValue:)) }
  }

  private var requiredChecks: [JSON] { (json["checks"]?.array ?? []).filter { $0["required"]?.bool == true } }

  /// The first `count` findings above info.
  func worst(_ count: Int) -> [ReportFacts.Brief] {
    let all = (json["findings"]?.array ?? []).compactMap(Self.brief).filter { $0.severity > .info }
    return Array(all.sorted { $0.severity > $1.severity }.prefix(count))
  }

  private static func brief(_ json: JSON) -> ReportFacts.Brief? {
    guard let code = json["code"]?.string,
      let severity = json["severity"]?.string.flatMap(Finding.Severity.init(rawValue:))
    else { return nil }
    return ReportFacts.Brief(
      code: code, severity: severity, subject: json["subject"]?.string ?? "*",
      observed: shortened(json["observed"]?.string ?? ""))
  }

  /// The first `count` required checks that were not answered, each with its reason: `keyring not-run: unreadable ann: …`.
  /// Where all were, the verdict is unknown for one of which nothing is there.
  func unanswered(_ count: Int) -> [String] {
    let required = requiredChecks
    func with(_ result: CheckResult) -> [JSON] { required.filter { $0["result"]?.string == result.rawValue } }
    let notRun = with(.notRun)
    return (notRun.isEmpty ? with(.absent) : notRun).prefix(count).map(words)
  }

  private func words(_ check: JSON) -> String {
    let head = "\(check["check"]?.string ?? "?") \(check["result"]?.string ?? "?")"
    return Self.shortened([head, reason(check)].compactMap { $0 }.joined(separator: ": "))
  }

  private func reason(_ check: JSON) -> String? {
    let ids = check["findings"]?.strings ?? []
    let finding = (json["findings"]?.array ?? []).first { $0["id"]?.string.map(ids.contains) ?? false }
    return finding.flatMap(Self.brief).map(\.words) ?? check["reason"]?.string
  }

  /// Letters of what was observed that are kept in memory.
  private static let keptLetters = 120

  private static func shortened(_ text: String) -> String {
    // As many bytes are never more letters, and need not be counted.
    text.utf8.count <= keptLetters ? text : String(text.prefix(keptLetters))
  }
}

extension EventFacts {
  public init(_ claims: EventClaims, kid: String, digest: String) {
    var verdict: Verdict?
    var link = EventLink(eseq: claims.number, digest: digest, prev: claims.previous)
    switch claims.body {
    // Findings alone that come and go change no verdict.
    case .change(let change): verdict = change.from == change.to ? nil : change.to
    case .gap(let first, let head):
      link.content = .gap(first: first)
      link.digest = head
    case .start(let reason): link.content = .start(reason: reason.rawValue)
    }
    self.init(kid: kid, chain: claims.chain, link: link, issued: claims.issuedAt, verdict: verdict)
  }
}

extension PresenceFacts {
  public init(_ claims: PresenceClaims, kid: String) {
    self.init(
      kid: kid, connection: claims.connection, number: claims.number, isOnline: claims.state == .online,
      issued: claims.issuedAt)
  }
}
