import Posture
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

@Suite struct PolicyBoardTests {
  /// The broker may bring a policy before the document that names its signer.
  @Test func `a policy waits for the trust document that names its signer`() throws {
    let site = try TestSite()
    var board = PolicyBoard(root: site.root.jwk)
    let audience = Audience.site(site.name)
    let claims = PolicyClaims(
      issuer: site.party("policy"), audience: audience, version: 1, issuedAt: site.now, policy: .stolen)
    let token = try TokenEncoder.encode(.policy, claims.claims, with: site.policySigner)
    let topic = try #require(audience.policyTopic)
    let before = try TrustStore(site: site.name, root: site.root.jwk)
    let isTaken = board.receive(Array(token.utf8), on: topic, trust: before, at: site.now)
    #expect(!isTaken)
    var row = DeviceRow(
      DeviceState(Name("edge-1")!, at: site.now),
      DeviceStatus(DeviceState(Name("edge-1")!, at: site.now), at: site.now, key: .good))
    row.policyDigest = Policy.entry.digest
    #expect(board.due(row) == nil)
    board.retry(trust: try site.store(), at: site.now)
    #expect(board.due(row) == Policy.stolen.name)
  }
}
