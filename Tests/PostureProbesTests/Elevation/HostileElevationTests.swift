import Glibc
import PosturePlatform
import TestKit
import Testing

@testable import PostureProbes

/// Generated inputs for every parser of elevation and remote doors: none may crash, hang or grow without bound.
@Suite(.serialized) struct HostileElevationTests {
  private static let words = [
    "alice", "ALL", "=", "(", ")", ":", ",", "!", "%", "#", "\\", "\"", "\n", " ", "\t", "NOPASSWD", "Defaults",
    "User_Alias",
    "Cmnd_Alias", "/bin/sh", "@include", "@includedir", "/etc/sudoers", "sha224:", "^", "$", "*", "[", "]", "\u{0}",
    "é",
    "permit", "nopass", "setenv", "{", "}", "cmd", "args", "as", "Match", "User", "Address", "Include", "10.0.0.0/8",
    "AuthenticationMethods", "publickey", "polkit.addRule(function(action, subject) {", "});", "if (", "action.id",
    "==",
    "return polkit.Result.YES;", "&&", "||", "subject.isInGroup(", "'", "/*", "*/", "//", "switch", "case", "default",
    "?", ".",
    "<action id=\"x\">", "<defaults>", "<allow_any>", "yes", "<!--", "-->", "</action>", "[x]", "Identity=unix-user:a",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExample", "config dropbear", "option", "-sgB",
    "expiry-time=\"",
  ]

  private static func text(_ random: inout SplitMix) -> String {
    let count = Int.random(in: 0...60, using: &random)
    return (0..<count).map { _ in
      let word = words[Int.random(in: 0..<words.count, using: &random)]
      return Bool.random(using: &random) ? word + " " : word
    }.joined()
  }

  private static let files = [
    "/etc/sudoers", "/etc/sudoers.d/x", "/etc/doas.conf", "/etc/ssh/sshd_config", "/home/alice/.ssh/authorized_keys",
    "/etc/polkit-1/rules.d/x.rules", "/usr/share/polkit-1/actions/x.policy", "/etc/config/dropbear",
    "/etc/default/dropbear",
    "/etc/inetd.conf", "/etc/polkit-1/localauthority/50-local.d/x.pkla",
  ]

  @Test func `generated files`() throws {
    let seed = getenv("POSTURE_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...UInt64.max)
    print("hostile elevation files, seed \(seed)")
    var random = SplitMix(seed)
    let people = try PeopleTree(
      services: ["sudo", "sshd", "polkit-1"],
      ["/usr/bin/doas": "", "/usr/sbin/sshd": "", "/usr/sbin/dropbear": "", "/usr/bin/pkexec": ""])
    for round in 0..<(Long.isWanted ? 3_000 : 40) {
      for file in Self.files { try people.tree.write(file, Self.text(&random), mode: 0o440) }
      let context = try people.context
      let start = Clock.boottimeMilliseconds
      _ = SudoersParser.parse(SudoersSource("/etc/sudoers", on: context.system, hostName: "h"))
      for look in [SSHDoors.look, DoasDoors.look, PolkitDoors.look, OtherRemoteDoors.look] { _ = look(context) }
      // Far beyond what any of it needs, for a busy machine.
      #expect(Clock.boottimeMilliseconds - start < 2_000, "round \(round) of seed \(seed)")
    }
  }

  @Test func `random bytes`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("hostile elevation bytes, seed \(seed)")
    var random = SplitMix(seed)
    for _ in 0..<(Long.isWanted ? 200_000 : 2_000) {
      let bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      let text = String(decoding: bytes, as: UTF8.self)
      if let tokens = PolkitTokens.read(bytes) { _ = PolkitRuleFile.rules(of: tokens, "/x", isVendor: false) }
      _ = PolkitPolicyFile.actions(of: bytes, "/x")
      _ = SSHDWords.split(text)
      _ = AuthorizedKeys.Entry(text[...])
      _ = ShellPattern(text).matches(text)
      _ = IPNetwork(text)
    }
  }

  @Test func `depth and width are bounded`() throws {
    let deep =
      "polkit.addRule(function(a, s) { if (" + String(repeating: "(", count: 100_000)
      + ") return polkit.Result.YES; });"
    if let tokens = PolkitTokens.read(Array(deep.utf8)) { _ = PolkitRuleFile.rules(of: tokens, "/x", isVendor: false) }
    let nested =
      "polkit.addRule(function(a, s) { " + String(repeating: "if (x) { ", count: 50_000)
      + String(repeating: "}", count: 50_001) + ");"
    let tokens = try #require(PolkitTokens.read(Array(nested.utf8)))
    // What is deeper than any rule is passed over, and may return anything.
    let nest = try #require(PolkitRuleFile.rules(of: tokens, "/x", isVendor: false).first?.function)
    #expect(nest.isGuessed)
    // Each condition that cannot be told doubles the ways.
    let forks = "polkit.addRule(function(a, s) { " + String(repeating: "if (x.y()) { z(); } ", count: 200) + "});"
    let rules = PolkitRuleFile.rules(of: try #require(PolkitTokens.read(Array(forks.utf8))), "/x", isVendor: false)
    let function = try #require(rules.first?.function)
    var evaluator = PolkitEvaluator(
      PolkitEvaluator.Question(action: "a", user: "u", isInGroup: { _ in false }, groups: []))
    let results = evaluator.results(of: function)
    #expect(results.contains(.unknown))
    #expect(!ShellPattern(String(repeating: "*a", count: 2_000)).matches(String(repeating: "a", count: 3_000) + "b"))
  }
}

struct ShellPatternTests {
  @Test(arguments: [
    ("*", "", true), ("*", "abc", true), ("a*c", "abbc", true), ("a*c", "abcd", false), ("?", "", false),
    ("a?c", "abc", true),
    ("[ab]x", "bx", true), ("[!ab]x", "bx", false), ("[^a]x", "bx", true), ("[a-c]", "b", true), ("[]]", "]", true),
    ("[", "[", true), ("\\*", "*", true), ("\\*", "a", false), ("**a*", "bab", true), ("", "", true), ("", "a", false),
  ])
  func `wildcards`(_ pattern: String, _ text: String, _ wanted: Bool) {
    #expect(ShellPattern(pattern).matches(text) == wanted)
  }

  @Test func `a slash stops a wildcard where it should`() {
    #expect(!ShellPattern("/usr/*", stopsAtSlash: true).matches("/usr/bin/id"))
    #expect(ShellPattern("/usr/*/id", stopsAtSlash: true).matches("/usr/bin/id"))
    #expect(!ShellPattern("/usr/?id", stopsAtSlash: true).matches("/usr//id"))
    #expect(ShellPattern("/usr/*").matches("/usr/bin/id"))
    #expect(ShellPattern("[a]", hasClasses: false).matches("[a]"))
  }
}
