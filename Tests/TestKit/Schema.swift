public import Posture
import PosturePlatform

/// The schemas of this repository, judged by an independent validator.
public enum Schema {
  /// What does not hold, in words; empty if every document is as its schema says.
  public static func faults(_ documents: [(schema: String, json: JSON)]) throws -> String {
    var command = Command("/usr/bin/python3", [Repository.path("Tests/validate.py")])
    command.input = documents.flatMap { Array("\($0.schema)\t".utf8) + $0.json.bytes + [0x0A] }
    command.timeout = 120_000
    let output = try command.run()
    if output.status == 0 { return "" }
    return String(decoding: output.out + output.err, as: UTF8.self)
  }

  /// The schema of a token's claims.
  public static func name(of kind: TokenKind) -> String {
    switch kind {
    case .report: "report"
    case .event: "event"
    case .presence: "presence"
    case .progress: "progress"
    case .refusal: "refusal"
    case .command: "command"
    case .policy: "policy-token"
    case .credential: "credential"
    case .trust: "trust"
    case .revoked: "revoked"
    case .request: "request"
    case .renewal: "renewal"
    }
  }
}
