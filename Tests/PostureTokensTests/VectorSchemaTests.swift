import Posture
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
}
