import Posture
import TestKit
import Testing

@testable import PostureAttester
@testable import PostureTokens

@Suite struct DocumentTests {
  private let groups = [Name("lathe")!, Name("mill")!]

  private func policy(
    _ device: TestDevice, _ policy: Policy, _ version: Int64, group: String? = nil, byRoot: Bool = false,
    key: FileKey? = nil, expires: Int64? = nil
  ) throws -> String {
    let site = device.site
    let audience = group.map { Audience.group(site: site.name, Name($0)!) } ?? .site(site.name)
    let claims = PolicyClaims(
      issuer: byRoot ? nil : site.party("policy"), audience: audience, version: version, issuedAt: site.now,
      expires: expires, policy: policy)
    return byRoot
      ? try site.root.policy(claims)
      : try TokenEncoder.encode(.policy, claims.claims, with: key ?? site.policySigner)
  }

  private func fails(_ code: AttesterFailure, _ body: () throws -> Void) {
    #expect(throws: AttesterError.self) { try body() }
    do { try body() } catch let error as AttesterError { #expect(error.code == code) } catch {}
  }

  @Test func `group over site over the built-in one, and across a restart`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder, groups: groups)
      do {
        let attester = try device.attester()
        #expect(attester.policy.policy.json == Policy.entry.json)
        try attester.accept(policy: policy(device, .stolen, 3))
        #expect(attester.policy.policy.json == Policy.stolen.json)
        try attester.accept(policy: policy(device, .hardened, 1, group: "mill"))
        #expect(attester.policy.policy.json == Policy.hardened.json)
        let report = try device.report(attester.look(open: false))
        #expect(report.policy.name == "hardened" && report.policy.digest == Policy.hardened.digest)
        #expect(report.verdict == .unknown)
      }
      #expect(try device.attester().policy.policy.json == Policy.hardened.json)
    }
  }

  @Test func `a lower version, another document under one version, a stranger's: all refused, and told of`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder, groups: groups)
      let attester = try device.attester()
      try attester.accept(policy: policy(device, .stolen, 3))
      try attester.accept(policy: policy(device, .stolen, 3))
      fails(.rollback) { try attester.accept(policy: self.policy(device, .stolen, 2)) }
      fails(.rollback) { try attester.accept(policy: self.policy(device, .hardened, 3)) }
      fails(.untrusted) { try attester.accept(policy: self.policy(device, .hardened, 4, group: "press")) }
      let stranger = try FileKey.generate()
      fails(.untrusted) { try attester.accept(policy: self.policy(device, .hardened, 4, key: stranger)) }
      fails(.untrusted) { try attester.accept(policy: self.policy(device, .hardened, 4, key: device.site.controller)) }
      #expect(attester.policy.policy.json == Policy.stolen.json)
      let told = try device.report(attester.look(open: false)).evidence["findings"]?.array ?? []
      #expect(told.contains { $0["code"]?.string == "documentRefused" })
      try attester.accept(policy: policy(device, .stolen, 3))
      let after = try device.report(attester.look(open: false)).evidence["findings"]?.array ?? []
      #expect(!after.contains { $0["code"]?.string == "documentRefused" })
      // A rollback is refused after a restart as well.
      _ = consume attester
      let again = try device.attester()
      fails(.rollback) { try again.accept(policy: self.policy(device, .entry, 2)) }
    }
  }

  @Test func `only the root lowers the floor`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder, groups: groups)
      let attester = try device.attester()
      let weak = Policy(name: "weak", demands: [.ownerAuthentication: .require])
      let kiosk = Policy(
        name: "kiosk", demands: Policy.entry.demands,
        intended: [Policy.Intended(door: "graphical@lightdm", subject: "kiosk", why: "public terminal")])
      fails(.belowFloor) { try attester.accept(policy: self.policy(device, weak, 1)) }
      fails(.belowFloor) { try attester.accept(policy: self.policy(device, kiosk, 1)) }
      try attester.accept(policy: policy(device, kiosk, 1, byRoot: true))
      #expect(attester.policy.policy.json == kiosk.json)
      try attester.accept(policy: policy(device, weak, 2, byRoot: true))
      #expect(attester.policy.policy.json == weak.json)
    }
  }

  @Test func `a policy that has ended, or whose signer was taken back, lapses`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder, groups: groups)
      let attester = try device.attester()
      try attester.accept(policy: policy(device, .stolen, 1))
      try attester.accept(policy: policy(device, .hardened, 1, group: "lathe", expires: device.site.now + 3_600))
      #expect(attester.policy.policy.json == Policy.hardened.json)
      device.pass(hours: 2)
      #expect(attester.policy.policy.json == Policy.stolen.json)
      let site = device.site
      let trust = try site.issuer.trust(
        version: 2, at: site.now, until: site.now + 1_000_000,
        authorized: [site.grant("policy", .policy, site.policySigner.publicKey)],
        revokedAuthorities: [site.policySigner.publicKey.kid])
      try attester.accept(trust: trust)
      #expect(attester.policy.policy.json == Policy.entry.json)
    }
  }

  @Test func `an older trust document is refused, before and after a restart`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let attester = try device.attester()
      try attester.accept(trust: device.site.trust(version: 7))
      fails(.rollback) { try attester.accept(trust: device.site.trust(version: 6)) }
      let other = try TestSite(now: TestDevice.start)
      fails(.untrusted) { try attester.accept(trust: other.trust(version: 9)) }
      _ = consume attester
      let again = try device.attester()
      #expect(again.trust.floor == 7)
      fails(.rollback) { try again.accept(trust: device.site.trust(version: 6)) }
      try again.accept(trust: device.site.trust(version: 8))
    }
  }

  @Test func `versions outlive the journal`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder, groups: groups)
      do {
        let attester = try device.attester()
        try attester.accept(trust: device.site.trust(version: 7))
        try attester.accept(policy: policy(device, .stolen, 5))
        try attester.look(open: false)
      }
      try Files.write(Array("no database".utf8), to: "\(folder)/\(Journal.fileName)")
      Files.remove("\(folder)/\(Journal.fileName)-wal")
      let attester = try device.attester()
      fails(.rollback) { try attester.accept(trust: device.site.trust(version: 6)) }
      fails(.rollback) { try attester.accept(policy: self.policy(device, .stolen, 4)) }
      try attester.accept(policy: policy(device, .stolen, 5))
      #expect(attester.policy.policy.json == Policy.stolen.json)
    }
  }
}
