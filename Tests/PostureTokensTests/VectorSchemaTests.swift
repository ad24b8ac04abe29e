@testable import Posture
import PosturePlatform
@testable import PostureTokens
import TestKit
import Testing

/// What our decoder accepts is what the schemas describe, by an independent validator.
@Suite struct VectorSchemaTests {
  private static let accepted: [(name: String, token: UnverifiedToken)] = {
    let vectors = try! VectorTests.files().map { try Vector.load($0) }.filter { $0.expect == .accept }
    return vectors.map { ($0.name, try! TokenDecoder.decode($0.body, kinds: TokenKind.allCases)) }
  }()

  @Test func `accepted messages are as their schemas say`() throws {
    let documents = try Self.accepted.map { (Schema.name(of: $0.token.kind), try $0.token.unverifiedClaims()) }
    #expect(documents.count > 70)
    #expect(Set(Self.accepted.map(\.token.kind)) == Set(TokenKind.allCases))
    #expect(try Schema.faults(documents) == "")
  }

  @Test func `a schema tells a wrong message`() throws {
    let site = try VectorSite()
    let wrong: [(String, JSON)] = [
      ("presence", site.presence().removing("conn")), ("report", site.report().setting("verdict", to: "success")),
      ("command", site.command().setting("exp", to: "soon")),
    ]
    for document in wrong { #expect(try Schema.faults([document]) != "") }
  }

  @Test func `a number is as large as can be for the schemas where it is for the reader`() throws {
    let tooLarge = JSON.integer(ClaimReader.counts.upperBound + 1)
    var wrong: [String: (schema: String, json: JSON)] = [:]
    for (name, token) in Self.accepted {
      let (schema, claims) = (Schema.name(of: token.kind), Self.whole(try token.unverifiedClaims(), token.kind))
      for path in Self.numbers(in: claims) where path[0] != "evidence" {
        let document = claims.setting(path[...], to: tooLarge)
        #expect(throws: ClaimError.self, "\(name) \(path)") { try Self.read(document, as: token.kind) }
        wrong["\(schema): \(path.joined(separator: "/")):"] = (schema, document)
      }
    }
    for place in ["report: bootcount:", "event: first:"] { #expect(wrong[place] != nil, "\(place)") }
    let faults = try Schema.faults(Array(wrong.values))
    for place in wrong.keys { #expect(faults.contains("\(place) \(tooLarge.text) is greater"), "\(place)") }
  }

  /// With the numbers that may be left out.
  private static func whole(_ claims: JSON, _ kind: TokenKind) -> JSON {
    switch kind {
    case .report: claims.setting("oemid", to: 32_473)
    case .command: claims.setting("cseq", to: 1)
    case .presence: claims.setting("counters", to: ["reports": 1])
    case .event: claims["change"] == nil ? claims : claims.setting("change", "left_out", to: 1)
    default: claims
    }
  }

  /// The places of the numbers in objects.
  private static func numbers(in json: JSON) -> [[String]] {
    (json.members ?? []).flatMap { member in
      member.value.integer != nil ? [[member.name]] : numbers(in: member.value).map { [member.name] + $0 }
    }
  }

  private static func read(_ claims: JSON, as kind: TokenKind) throws {
    switch kind {
    case .report: _ = try ReportClaims(claims: claims)
    case .event: _ = try EventClaims(claims: claims)
    case .presence: _ = try PresenceClaims(claims: claims)
    case .progress: _ = try ProgressClaims(claims: claims)
    case .refusal: _ = try RefusalClaims(claims: claims)
    case .command: _ = try RecheckClaims(claims: claims)
    case .policy: _ = try PolicyClaims(claims: claims)
    case .credential: _ = try CredentialClaims(claims: claims)
    case .trust: _ = try TrustClaims(claims: claims)
    case .revoked: _ = try RevokedClaims(claims: claims)
    case .request: _ = try EnrolmentRequestClaims(claims: claims)
    case .renewal: _ = try RenewalClaims(claims: claims)
    }
  }
}
