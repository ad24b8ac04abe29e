import Posture
import PostureTokens

/// Who may write and read what on a site, for every kind of broker. Its size depends on neither devices nor groups.
struct AccessRules {
  /// One kind of client, known by the name in its certificate: a role's, or a device's own.
  struct Side {
    /// nil: a device.
    var role: Role?
    /// Topics; `%u` stands for the name in the certificate.
    var write: [String]
    var read: [String]
  }

  let sides: [Side]

  init(_ site: Name) {
    let seen = ["d/+/report", "d/+/event", "d/+/presence", "d/+/reply", "d/+/keys", "trust", "revoked", "revoked/+"]
    let policies = ["policy", "g/+/policy"]
    let documents = ["trust", "revoked", "revoked/+"]
    let all = [
      Side(
        role: nil, write: ["report", "event", "presence", "reply", "keys", "request"].map { "d/%u/\($0)" },
        read: [
          "d/%u/cmd/recheck", "d/%u/presence", "d/%u/renewal", "g/+/cmd/recheck", "all/cmd/recheck", "trust", "policy",
          "g/+/policy",
        ]),
      Side(role: .controller, write: ["d/+/cmd/recheck", "g/+/cmd/recheck", "all/cmd/recheck"], read: seen),
      Side(role: .monitor, write: [], read: seen + policies),
      Side(role: .policy, write: policies, read: policies + ["trust"]),
      Side(role: .issuer, write: documents + ["d/+/renewal"], read: documents + ["d/+/request"]),
    ]
    let root = "\(Topic.prefix)/\(site)"
    sides = all.map { side in
      Side(role: side.role, write: side.write.map { "\(root)/\($0)" }, read: side.read.map { "\(root)/\($0)" })
    }
  }

  /// Names that no device may have.
  static let reserved = ["controller", "monitor", "policy", "issuer", "root", "broker"]
}
