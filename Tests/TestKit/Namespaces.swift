import Glibc
import PosturePlatform

/// Two network namespaces with a line between them, root only; both go with their owner.
public final class Namespaces: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  public static let isPossible =
    geteuid() == 0 && access("/usr/sbin/nft", X_OK) == 0 && access("/usr/sbin/ip", X_OK) == 0

  /// The broker's and the device's.
  public let far: String
  public let near: String
  /// The broker's address.
  public let address = "10.213.0.1"

  public init() throws {
    let number = UInt32.random(in: 0...0xFFFFFF)
    far = "posture-far-\(number)"
    near = "posture-near-\(number)"
    for name in [far, near] { try Self.run("/usr/sbin/ip", "netns", "add", name) }
    try Self.run(
      "/usr/sbin/ip", "-n", far, "link", "add", "line", "type", "veth", "peer", "name", "line", "netns", near)
    try Self.run("/usr/sbin/ip", "-n", far, "addr", "add", "\(address)/24", "dev", "line")
    try Self.run("/usr/sbin/ip", "-n", near, "addr", "add", "10.213.0.2/24", "dev", "line")
    for name in [far, near] {
      for device in ["lo", "line"] { try Self.run("/usr/sbin/ip", "-n", name, "link", "set", device, "up") }
    }
  }

  deinit { for name in [far, near] { try? Self.run("/usr/sbin/ip", "netns", "del", name) } }

  /// What stands before a command so that it runs in the namespace.
  public static func prefix(_ name: String) -> [String] { ["/usr/sbin/ip", "netns", "exec", name] }

  /// How the line between them is cut.
  public enum Cut: CaseIterable, Sendable {
    /// Packets vanish, and nobody is told.
    case silent
    /// Each packet is answered with a reset.
    case rejected
    /// The device's interface goes down.
    case unplugged
    /// What the device sends arrives, what the broker sends does not.
    case oneWay
  }

  public func cut(_ kind: Cut) throws {
    switch kind {
    case .silent: try filter("input", "drop", "output", "drop")
    case .rejected: try filter("input", "drop", "output", "reject with tcp reset", match: "meta l4proto tcp")
    case .unplugged: try Self.run("/usr/sbin/ip", "-n", near, "link", "set", "line", "down")
    case .oneWay: try filter("input", "drop")
    }
  }

  /// Hook and verdict, by turns.
  private func filter(_ words: String..., match: String = "") throws {
    var rules = "table ip cut {\n"
    for at in stride(from: 0, to: words.count, by: 2) {
      let side = words[at] == "input" ? "iifname" : "oifname"
      rules +=
        "chain \(words[at]) { type filter hook \(words[at]) priority 0; \(side) line \(match) \(words[at + 1]); }\n"
    }
    var command = Command("/usr/sbin/ip", ["netns", "exec", near, "/usr/sbin/nft", "-f", "-"])
    command.input = Array((rules + "}\n").utf8)
    try Self.check(command)
  }

  public func mend() throws {
    try Self.run("/usr/sbin/ip", "netns", "exec", near, "/usr/sbin/nft", "flush", "ruleset")
    try Self.run("/usr/sbin/ip", "-n", near, "link", "set", "line", "up")
  }

  private static func run(_ path: String, _ words: String...) throws { try check(Command(path, words)) }

  private static func check(_ command: Command) throws {
    let output = try command.run()
    guard output.status == 0 else {
      throw Failure(description: "\(command.arguments): \(String(decoding: output.err, as: UTF8.self))")
    }
  }
}
