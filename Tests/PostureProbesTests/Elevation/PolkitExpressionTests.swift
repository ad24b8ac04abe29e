import TestKit
import Testing

@testable import PostureProbes

/// Regular expressions of rules: those that are read match as JavaScript's do.
struct PolkitExpressionTests {
  @Test(arguments: [
    ("^org\\.freedesktop\\.", "", "org.freedesktop.x", 0), ("freedesktop", "", "org.freedesktop.x", 4),
    ("^free", "", "org.free", -1),
    ("a|b", "", "xb", 1), ("(udisks2|login1)\\.(mount|hibernate)$", "", "org.freedesktop.login1.hibernate", 16),
    ("manage-units?$", "", "manage-unit", 0), ("x*", "", "yyy", 0), ("x+", "", "yyy", -1),
    ("[a-c]{2,3}d", "", "zabcd", 1),
    ("[^.]+\\.[^.]+$", "", "a.b.c", 2), ("ORG", "i", "org", 0), ("[A-C]x", "i", "bx", 0), ("\\d+", "", "ab12", 2),
    ("\\D", "i", "1a", 1),
    ("\\bmount\\b", "", "a.mount.b", 2), ("\\Bount", "", "mount", 1), ("(?:ab)+c", "", "xababc", 1),
    ("a.c", "g", "abc", 0),
    ("(a*)*b", "", "aaaa", -1), ("^$", "", "", 0), ("a{2}", "", "aa", 0), ("(x?){3}y", "", "y", 0),
    ("a+?b", "", "aab", 0),
  ])
  func `where the first match begins`(pattern: String, flags: String, text: String, wanted: Int) throws {
    let expression = try #require(PolkitExpression(pattern, flags: flags), "\(pattern)")
    #expect(expression.firstMatch(in: text) == wanted, "/\(pattern)/ in \(text)")
  }

  @Test(arguments: [
    "(?=a)", "(?<!a)b", "(a)\\1", "\\u0041", "[\\n]", "a{3,2}", "a{x}", "(", "a)", "[", "*a", "\\cA", "é",
  ])
  func `anything else is not read`(pattern: String) { #expect(PolkitExpression(pattern, flags: "") == nil) }

  @Test func `flags that change the anchors are not read`() {
    #expect(PolkitExpression("^a", flags: "m") == nil)
    #expect(PolkitExpression("^a", flags: "y") == nil)
  }

  @Test func `what takes too long has no answer`() throws {
    let slow = try #require(PolkitExpression("(a|a)*(a|a)*(a|a)*$", flags: ""))
    #expect(slow.firstMatch(in: String(repeating: "a", count: 500) + "b") == nil)
    #expect(try #require(PolkitExpression("a", flags: "")).firstMatch(in: String(repeating: "b", count: 600)) == nil)
  }

  static let rules: [(String, String)] = [
    ("if (/^org\\.freedesktop\\.policykit\\.exec$/.test(action.id)) return polkit.Result.YES;", "notRequired"),
    ("if (/^org\\.freedesktop\\.udisks2\\./.test(action.id)) return polkit.Result.YES;", "required passcode"),
    ("if (action.id.match(\"policykit\") && subject.isInGroup('sudo')) { return polkit.Result.YES; }", "notRequired"),
    ("if (action.id.match(/udisks/)) { return polkit.Result.YES; }", "required passcode"),
    ("if (action.id.search(/exec$/) != -1) { return polkit.Result.YES; }", "notRequired"),
    ("if (/(?<=x)exec/.test(action.id)) { return polkit.Result.YES; }", "unknown"),
  ]

  @Test(arguments: rules)
  func `a rule with an expression decides`(body: String, wanted: String) throws {
    let people = try PeopleTree(
      services: ["polkit-1"],
      [
        "/usr/bin/pkexec": "",
        "/usr/share/polkit-1/actions/x.policy":
          "<action id=\"org.freedesktop.policykit.exec\"><defaults><allow_active>auth_admin</allow_active></defaults></action>",
        "/usr/share/polkit-1/rules.d/50-default.rules":
          "polkit.addAdminRule(function(action, subject) { return [\"unix-group:sudo\"]; });\n",
        "/etc/polkit-1/rules.d/10-own.rules": "polkit.addRule(function(action, subject) {\n\(body)\n});\n",
      ])
    #expect(try people.answer("polkit:org.freedesktop.policykit.exec") == wanted)
  }
}
