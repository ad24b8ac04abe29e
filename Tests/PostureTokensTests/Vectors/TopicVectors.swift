import Posture
@testable import PostureTokens

/// Every kind of token on every topic, each well signed by whom it belongs to.
extension VectorBook {
  private struct Place {
    let name: String
    let topic: Topic.Place
    let receiver: Vector.Receiver
  }

  private var places: [Place] {
    let edge = site.device
    return [
      Place(name: "report", topic: .report(edge), receiver: .monitor),
      Place(name: "event", topic: .event(edge), receiver: .monitor),
      Place(name: "presence", topic: .presence(edge), receiver: .monitor),
      Place(name: "reply", topic: .reply(edge), receiver: .monitor),
      Place(name: "keys", topic: .keys(edge), receiver: .monitor),
      Place(name: "trust", topic: .trust, receiver: .monitor),
      Place(name: "revoked", topic: .revoked, receiver: .monitor),
      Place(name: "revoked-1", topic: .revokedPart(1), receiver: .monitor),
      Place(name: "cmd", topic: .recheckDevice(edge), receiver: .device),
      Place(name: "group-cmd", topic: .recheckGroup(site.lathe), receiver: .device),
      Place(name: "all-cmd", topic: .recheckAll, receiver: .device),
      Place(name: "policy", topic: .policy, receiver: .device),
      Place(name: "group-policy", topic: .groupPolicy(site.lathe), receiver: .device),
      Place(name: "trust-device", topic: .trust, receiver: .device),
      Place(name: "renewal", topic: .renewal(edge), receiver: .device),
    ]
  }

  mutating func addTopics() throws {
    for place in places {
      for kind in TokenKind.allCases {
        let isAtHome = Topic(site.name, place.topic).kinds.contains(kind)
        add(
          "topic/\(place.name)/\(kind.rawValue.dropLast(4))", isAtHome ? .accept : .reject(.typeNotHere),
          place.receiver, on: place.topic,
          given: [Self.trust] + (place.receiver == .monitor || place.name == "renewal" ? [Self.keys] : []),
          why: isAtHome ? "at home here" : "good elsewhere", try token(kind, for: place.topic))
      }
    }
    let presence = try sign(.presence, site.presence())
    let strange = [
      "posture/v1/site-b/d/edge-0042/presence", "posture/v2/site-a/d/edge-0042/presence",
      "posture/v1/site-a/d/edge-0042/presence/", "posture/v1/site-a/d/EDGE-0042/presence",
      "posture/v1/site-a/d/+/presence", "posture/v1/site-a/d/../presence", "posture/v1/site-a/d//presence",
      "posture/v1/site-a/revoked/01", "posture/v1/site-a/revoked/-1", "$SYS/broker",
    ]
    for (number, topic) in strange.enumerated() {
      add(
        "topic/strange-\(number + 1)", .reject(.topic), topic: topic, why: "none of this site's topics",
        Array(presence.utf8))
    }
  }

  private func token(_ kind: TokenKind, for topic: Topic.Place) throws -> String {
    switch kind {
    case .report: return try sign(kind, site.report())
    case .event: return try sign(kind, site.event(.start(.enrolled)))
    case .presence: return try sign(kind, site.presence())
    case .progress: return try sign(kind, site.progress())
    case .refusal: return try sign(kind, site.refusal())
    case .command:
      let audience: Audience =
        switch topic {
        case .recheckGroup(let group): .group(site: site.name, group)
        case .recheckAll: .site(site.name)
        default: .device(site.party("edge-0042"))
        }
      return try sign(kind, site.command(audience), site.controller)
    case .policy:
      if case .groupPolicy(let group) = topic {
        return try sign(kind, site.policy(.group(site: site.name, group)), site.policySigner)
      }
      return try sign(kind, site.policy(), site.policySigner)
    case .credential: return try site.keys()
    case .trust: return try site.trust(3)
    case .revoked:
      let kids = (0..<400).map { SHA256.text(of: [UInt8($0 & 255), UInt8($0 >> 8)]) }
      let tokens = try site.issuer.revoked(kids, version: 1, at: VectorSite.now).tokens
      return topic == .revokedPart(1) ? tokens[1] : tokens[0]
    case .request: return try sign(kind, site.request().claims)
    case .renewal: return try site.renewal()
    }
  }
}
