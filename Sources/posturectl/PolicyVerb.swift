import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl policy`: what the site demands.
struct PolicyVerb: Verb {
  static let name = "policy"
  static let summary = "sign and publish the policy of the site or of a group"
  static let help = """
    usage: posturectl policy set FILE|NAME [--group G] [--days N] [--root] [--no-publish] [--home DIR]

    FILE is JSON: {"name": "kiosk", "base": "entry", "checks": {"disk": "require"}, "intended": [...]}; NAME is one of
    entry, stolen, hardened. The policy of a group stands above that of the site. `watch` shows who is not yet on it.
    Agents never go below the built-in policy entry unless the root itself signed the policy.

      --group G       for the devices of this group only
      --days N        until when (default: until another one comes)
      --root          sign with the root's key: for a policy that demands less than entry
      --no-publish    print the token instead
    """

  private let home: HomeOption
  private let source: String
  private let group: Name?
  private let life: Int64?
  private let usesRoot: Bool
  private let publishes: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    guard arguments.verb() == "set" else { throw UsageError("policy: the word set is missing") }
    home = try HomeOption(&arguments)
    group = try arguments.name("--group")
    life = try arguments.days("--days")
    usesRoot = arguments.flag("--root")
    publishes = !arguments.flag("--no-publish")
    source = try arguments.rest(1...1, "the policy, a file or a name,")[0]
  }

  func run() throws -> Int32 {
    let home = try home.open()
    let policy = try policy()
    let audience: Audience = group.map { .group(site: home.site, $0) } ?? .site(home.site)
    let desk = PolicyDesk(home, usesRoot: usesRoot)
    guard publishes else {
      Terminal.out(try desk.sign(policy, for: audience, at: Clock.wall, life: life))
      return 0
    }
    try desk.publish(policy, for: audience, at: Clock.wall, life: life)
    Terminal.out("published: policy \(policy.name) for \(group.map { "group \($0)" } ?? "site \(home.site)")")
    return 0
  }

  private func policy() throws -> Policy {
    if let shipped = Policy.shipped.first(where: { $0.name == source }) { return shipped }
    let text = try Input.text(source, cap: 65_536)
    do { return try Policy(json: try JSONParser.parse(text)) } catch {
      throw HomeError(.damaged, "\(source): \(error)")
    }
  }
}
