import Posture
import TestKit
import Testing

@testable import PostureProbes

struct PolkitTests {
  private static func policy(
    _ id: String, any: String = "auth_admin", inactive: String = "auth_admin", active: String = "auth_admin"
  ) -> String {
    """
    <?xml version="1.0"?>
    <!-- <action id="commented.out"> -->
    <policyconfig><action id="\(id)">
      <description>An &lt;action&gt;</description>
      <defaults><allow_any>\(any)</allow_any><allow_inactive>\(inactive)</allow_inactive>
        <allow_active>
          \(active)
        </allow_active></defaults>
    </action></policyconfig>
    """
  }

  private static let exec = "org.freedesktop.policykit.exec"
  private static let units = "org.freedesktop.systemd1.manage-units"

  private func polkit(_ files: [String: String] = [:]) throws -> PeopleTree {
    let base = [
      "/usr/bin/pkexec": "",
      "/usr/share/polkit-1/actions/a.policy": Self.policy(Self.exec),
      "/usr/share/polkit-1/actions/b.policy": Self.policy(Self.units),
      "/usr/share/polkit-1/actions/c.policy": Self.policy("org.example.thing.do"),
      "/usr/share/polkit-1/rules.d/50-default.rules":
        "polkit.addAdminRule(function(action, subject) {\n  return [\"unix-group:sudo\"];\n});\n",
    ]
    return try PeopleTree(services: ["polkit-1"], base.merging(files) { $1 })
  }

  private func ruled(_ body: String, in folder: String = "/etc") throws -> PeopleTree {
    try polkit(["\(folder)/polkit-1/rules.d/10-x.rules": body])
  }

  // MARK: Administrators

  @Test func `an administrator proves himself, others need an administrator`() throws {
    let people = try polkit()
    #expect(try people.answer("polkit") == "required passcode")
    #expect(try people.door("polkit", "alice")?.whose == nil)
    #expect(try people.door("polkit", "bob")?.whose == .target)
    #expect(try people.answer("polkit:\(Self.exec)") == "required passcode")
  }

  @Test func `nobody in the group: root is asked`() throws {
    let people = try polkit([
      "/usr/share/polkit-1/rules.d/50-default.rules":
        "polkit.addAdminRule(function(a, s) { return [\"unix-group:nobodys\"]; });"
    ])
    #expect(try people.door("polkit", "alice")?.whose == .root)
    #expect(try people.answer("polkit") == "required passcode")
  }

  @Test func `the first administrator rule with an answer counts`() throws {
    let people = try ruled("polkit.addAdminRule(function(a, s) { return [\"unix-user:bob\"]; });")
    #expect(try people.door("polkit", "alice")?.whose == .target)
    #expect(try people.door("polkit", "bob")?.whose == nil)
  }

  @Test func `administrators that cannot be told are unknown`() throws {
    let people = try ruled("polkit.addAdminRule(function(a, s) { for (;;) {} });")
    #expect(try people.answer("polkit") == "unknown")
  }

  // MARK: Forms of rules

  struct Form: CustomStringConvertible, Sendable {
    let text: String
    let alice: String
    let bob: String
    init(_ condition: String, _ alice: String, _ bob: String, result: String = "YES") {
      text =
        "polkit.addRule(function(action, subject) {\n  if (\(condition)) {\n    return polkit.Result.\(result);\n  }\n});\n"
      self.alice = alice
      self.bob = bob
    }
    init(whole: String, _ alice: String, _ bob: String) {
      text = whole
      self.alice = alice
      self.bob = bob
    }
    var description: String { text }
  }

  private static let asked = "required passcode"

  static let forms: [Form] = [
    Form("action.id == \"\(units)\" && subject.isInGroup(\"sudo\")", "notRequired", asked),
    Form("action.id === '\(units)' && subject.user == \"bob\"", asked, "notRequired"),
    Form("action.id.indexOf(\"org.freedesktop.systemd1.\") == 0", "notRequired", "notRequired"),
    Form("action.id.startsWith(\"org.freedesktop.systemd1.\") && !subject.isInGroup(\"ops\")", "notRequired", asked),
    Form("[\"x\", \"\(units)\"].indexOf(action.id) >= 0 && subject.isInGroup(\"ops\")", asked, "notRequired"),
    Form(
      "[\"x\", \"\(units)\"].includes(action.id) && (subject.user == \"alice\" || subject.user == \"carol\")",
      "notRequired", asked),
    Form("subject.isInGroup(\"sudo\")", "notRequired", asked),
    Form("subject.isInNetGroup(\"sudo\")", asked, asked),
    Form("subject.groups.indexOf(\"ops\") > -1", asked, "notRequired"),
    Form(
      "action.id == \"\(units)\" && subject.local && subject.active && subject.isInGroup(\"ops\")", asked, "notRequired"
    ),
    Form("action.id == \"\(units)\" && !subject.local && subject.isInGroup(\"ops\")", asked, "notRequired"),
    Form("action.id == \"org.example.other\"", asked, asked),
    Form("action.id == \"\(units)\" && subject.user == \"bob\"", asked, asked, result: "AUTH_SELF"),
    Form("action.id == \"\(units)\"", "closed", "closed", result: "NO"),
    Form("action.id == \"\(units)\" && action.lookup(\"unit\") == \"foo.service\"", asked, asked),
    Form("action.id == \"\(units)\" && action.lookup(\"unit\").match(/^foo/)", "unknown", "unknown"),
    Form("action.id.match(/systemd1/) && subject.isInGroup(\"ops\")", asked, "notRequired"),
    Form(whole: "polkit.addRule((a, s) => { if (s.user == 'bob') return polkit.Result.YES; });", asked, "notRequired"),
    Form(
      whole:
        "polkit.addRule(function(action, subject) { switch (action.id) { case \"x\": return polkit.Result.NO; case \"\(units)\": return subject.user == \"bob\" ? polkit.Result.YES : null; } });",
      asked, "notRequired"),
    Form(
      whole:
        "var friends = [\"bob\", \"carol\"];\npolkit.addRule(function(action, subject) { if (friends.indexOf(subject.user) != -1) { polkit.log(\"yes \" + subject.user); return polkit.Result.YES; } return polkit.Result.NOT_HANDLED; });",
      asked, "notRequired"),
    Form(
      whole:
        "polkit.addRule(function(action, subject) { var ok = subject.isInGroup(\"ops\"); if (!ok) { return; } else return 'yes'; });",
      asked, "notRequired"),
    Form(
      whole:
        "polkit.addRule(function(action, subject) { for (var i in x) { if (action.id == \"\(units)\") return polkit.Result.YES; } });",
      "unknown", "unknown"),
    Form(
      whole:
        "polkit.addRule(function(action, subject) { for (var i in x) { if (action.id == \"org.example.other\") return polkit.Result.YES; } });",
      asked, asked),
    Form(
      whole:
        "polkit.addRule(function(action, subject) { try { polkit.spawn([\"x\"]); return polkit.Result.AUTH_ADMIN; } catch (e) {} });",
      asked, asked),
    Form(whole: "polkit.addRule(function(action, subject) { return polkit.Result.YES;", asked, asked),
    // A declaration ends with its line.
    Form(whole: "const b = [\"bob\"]\n" + named("b.indexOf(s.user) >= 0"), asked, "notRequired"),
    Form(whole: "var a, b = [\"bob\"]\n" + named("b.includes(s.user)"), asked, "notRequired"),
    Form(whole: named("b.includes(s.user)") + "var b = [\"bob\"]", asked, "notRequired"),
    Form(whole: "var b = [\"carol\"]; b.push(\"bob\");\n" + named("b.includes(s.user)"), "unknown", "unknown"),
    Form(
      whole:
        "polkit.addRule(function(a, s) { var b = []; b.push(\"bob\"); if (b.includes(s.user)) return polkit.Result.YES; })",
      "unknown", "unknown"),
    Form(whole: "let b = false\nb = true\n" + named("b"), "unknown", "unknown"),
    // A rule that has a name, or is added under another one.
    Form(
      whole: "polkit.addRule(letBob)\nfunction letBob(a, s) { if (s.user == 'bob') return polkit.Result.YES }", asked,
      "notRequired"),
    Form(
      whole: "const letBob = (a, s) => s.user == 'bob' ? polkit.Result.YES : null\npolkit.addRule(letBob)", asked,
      "notRequired"),
    Form(
      whole: "let f = function(a, s) { return polkit.Result.YES }\nf = null\npolkit.addRule(f)", "unknown", "unknown"),
    Form(whole: "polkit[\"addRule\"](function(a, s) { return polkit.Result[\"YES\"]; })", "notRequired", "notRequired"),
    Form(whole: "const p = polkit\np.addRule(a => polkit.Result.YES)", "notRequired", "notRequired"),
    Form(whole: "const add = polkit.addRule\nadd(function() { return polkit.Result.YES })", "unknown", "unknown"),
    Form(whole: "polkit.addRule(maker(polkit.Result.YES))", "unknown", "unknown"),
    Form(whole: "polkit.addRule(maker())", asked, asked),
    // Names are exact: what is not there is no answer, and a word that is none refuses.
    Form("subject.user == \"bob\"", asked, asked, result: "Yes"),
    Form(whole: "polkit.addRule(function(a, s) { if (s.user == 'bob') return 'YES'; })", asked, "closed"),
    Form(whole: "polkit.addRule(function(a, s) { return s.user == 'bob'; })", asked, "closed"),
    Form(whole: "/* polkit.addRule(function(a, s) { return polkit.Result.YES; }); */", asked, asked),
    // What cannot be read is one operand, or the rest of its block.
    Form("action.id == \"\(units)\" && (subject.user | 1)", "unknown", "unknown"),
    Form("action.id == \"org.example.other\" && (subject.user | 1)", asked, asked),
    Form("action.id == \"\(units)\" | subject.user == \"bob\"", "unknown", "unknown"),
    Form("new RegExp(\"^org\").test(action.id)", "unknown", "unknown"),
    Form("subject.groups.some(function(g) { return g == \"ops\" })", "unknown", "unknown"),
    Form("!subject.isInGroup(\"sudo\") && `${subject.user}` == \"x\"", asked, "unknown"),
    Form(whole: unreadable("do { } while (x); return polkit.Result.YES", units), "unknown", "unknown"),
    Form(whole: unreadable("do { } while (x); return polkit.Result.YES", "org.example.other"), asked, asked),
    Form(whole: unreadable("function f() {}\n return polkit.Result.YES", units), "unknown", "unknown"),
    Form(whole: unreadable("var x = a | b\n return polkit.Result.YES", units), "unknown", "unknown"),
    Form(whole: unreadable("try { f() } catch (e) { return polkit.Result.YES }", units), "unknown", "unknown"),
    Form(
      whole: unreadable("switch (x) { default: do { } while (x); break } return \"yes\"", units), "unknown", "unknown"),
    // A value that changes is not the one that was declared.
    Form(whole: unreadable("var y = false; y |= f(); if (y) return polkit.Result.YES", units), "unknown", "unknown"),
    Form(whole: unreadable("var y = 0; ++y; if (y) return polkit.Result.YES", units), "unknown", "unknown"),
    Form(
      whole: unreadable("var y = [\"x\"]; y[0] = f(); if (y.includes(s.user)) return polkit.Result.YES", units),
      "unknown", "unknown"),
    Form(
      whole: unreadable("var y = false; for (g of x) { var y = true } if (y) return polkit.Result.YES", units),
      "unknown", "unknown"),
    Form(whole: unreadable("a.id = \"x\"; if (a.id == \"x\") return polkit.Result.YES", units), "unknown", "unknown"),
  ]

  private static func unreadable(_ body: String, _ id: String) -> String {
    "polkit.addRule(function(a, s) { if (a.id == \"\(id)\") { \(body) } })\n"
      + "polkit.addRule(function(a, s) { if (s.user == \"nobody\") return polkit.Result.YES })\n"
  }

  private static func named(_ condition: String) -> String {
    "polkit.addRule(function(a, s) { if (\(condition)) return polkit.Result.YES })\n"
  }

  @Test(arguments: forms) func `rules are evaluated`(_ form: Form) throws {
    let people = try ruled(form.text)
    #expect(try people.answer("polkit:\(Self.units)") == form.alice)
    #expect(try people.answer("polkit:\(Self.units)", "bob") == form.bob)
  }

  @Test func `the first rule with an answer decides, by base name over all directories`() throws {
    let people = try polkit([
      "/usr/share/polkit-1/rules.d/05-vendor.rules":
        "polkit.addRule(function(a, s) { if (a.id == \"\(Self.units)\") return polkit.Result.NO; });",
      "/etc/polkit-1/rules.d/10-x.rules": "polkit.addRule(function(a, s) { return polkit.Result.YES; });",
    ])
    #expect(try people.answer("polkit:\(Self.units)") == "closed")
    #expect(try people.answer("polkit:\(Self.exec)") == "notRequired")
  }

  @Test func `pkexec of a program that is root counts, of another one not`() throws {
    func rule(_ program: String) -> String {
      "polkit.addRule(function(action, subject) { if (action.id == \"\(Self.exec)\" && action.lookup(\"program\") == \"\(program)\" && subject.isInGroup(\"wheel\")) { return polkit.Result.YES; } });"
    }
    #expect(try ruled(rule("/usr/bin/pacman")).answer("polkit:\(Self.exec)") == "notRequired")
    #expect(try ruled(rule("/usr/bin/pacman")).answer("polkit:\(Self.exec)", "bob") == Self.asked)
    #expect(try ruled(rule("/usr/lib/backlight-helper")).answer("polkit:\(Self.exec)") == Self.asked)
  }

  // MARK: Defaults and further actions

  @Test func `the weakest of active, inactive and any counts`() throws {
    let people = try polkit([
      "/usr/share/polkit-1/actions/b.policy": Self.policy(Self.units, any: "no", inactive: "no", active: "yes")
    ])
    #expect(try people.answer("polkit:\(Self.units)") == "notRequired")
    let shut = try polkit([
      "/usr/share/polkit-1/actions/b.policy": Self.policy(Self.units, any: "no", inactive: "no", active: "no")
    ])
    #expect(try shut.answer("polkit:\(Self.units)") == "closed")
    let own = try polkit([
      "/usr/share/polkit-1/actions/b.policy": Self.policy(
        Self.units, any: "no", inactive: "no", active: "auth_self_keep")
    ])
    #expect(try own.answer("polkit:\(Self.units)", "bob") == Self.asked)
    #expect(try own.door("polkit:\(Self.units)", "bob")?.whose == nil)
  }

  @Test func `an action outside the list shows only where a local rule makes it weaker`() throws {
    let rule =
      "polkit.addRule(function(a, s) { if (a.id == \"org.example.thing.do\" && s.user == \"bob\") return polkit.Result.YES; });"
    #expect(try polkit().answer("polkit:org.example.thing.do", "bob") == "absent")
    #expect(try ruled(rule, in: "/usr/share").answer("polkit:org.example.thing.do", "bob") == "absent")
    #expect(try ruled(rule).answer("polkit:org.example.thing.do", "bob") == "notRequired")
    #expect(try ruled(rule).answer("polkit:org.example.thing.do") == "absent")
  }

  @Test(arguments: [
    ("if (a.id != \"\(units)\") return polkit.Result.YES;", "notRequired"),
    ("if (a.id == \"\(units)\") {} else { return polkit.Result.YES; }", "notRequired"),
    ("if (a.lookup(\"unit\") != \"x.service\") return polkit.Result.YES;", "notRequired"),
    ("if (a.lookup(\"unit\") == \"x.service\") return polkit.Result.YES;", "absent"),
    ("if (new RegExp(\"x\").test(a.id)) return polkit.Result.YES;", "unknown"),
  ])
  func `a rule may make an action weaker that it does not name`(_ body: String, _ answer: String) throws {
    let people = try ruled("polkit.addRule(function(a, s) { \(body) });")
    #expect(try people.answer("polkit:org.example.thing.do", "bob") == answer)
  }

  // MARK: Engines

  private static let duktape = ["/usr/lib/x86_64-linux-gnu/libduktape.so.207": ""]
  private static let mozilla = ["/usr/lib/x86_64-linux-gnu/libmozjs-102.so.0": ""]

  @Test(arguments: [
    ("let y = 'yes'; return y;", "asked"), ("var f = x => x; return 'yes';", "asked"),
    ("return `yes`;", "asked"), ("if (['bob'].includes(s.user)) return 'yes';", "closed"),
    ("if (s.user == 'bob' && !['x'].includes(s.user)) return 'yes';", "closed"),
    ("if (s.user == 'x' && ['x'].includes(s.user) || s.user.includes('ob')) return 'yes';", "notRequired"),
    ("const y = 'yes'; return y;", "notRequired"),
  ])
  func `Duktape loads no file that is newer than ECMAScript 5, and its lists lack includes`(
    _ body: String, _ answer: String
  ) throws {
    let rule = ["/etc/polkit-1/rules.d/10-x.rules": "polkit.addRule(function(a, s) { \(body) });"]
    func found(_ files: [String: String]) throws -> String {
      try polkit(rule.merging(files) { $1 }).answer("polkit:\(Self.units)", "bob")
    }
    let answer = answer == "asked" ? Self.asked : answer
    #expect(try found(Self.duktape) == answer)
    let linked = ["/usr/lib/polkit-1/polkitd": "ELF libduktape.so.207"]
    #expect(try found(linked.merging(Self.mozilla) { $1 }) == answer)
    // Of two libraries it cannot be told whose polkitd's is.
    for files in [[:], Self.mozilla, Self.duktape.merging(Self.mozilla) { $1 }] {
      #expect(try found(files) == "notRequired")
    }
  }

  @Test func `whoever may do an action may do those that it implies`() throws {
    let implied =
      "<annotate key=\"org.freedesktop.policykit.imply\">org.example.other \(Self.units)</annotate></action>"
    let people = try polkit([
      "/usr/share/polkit-1/actions/c.policy":
        Self.policy("org.example.thing.do").replacing("</action>", with: implied),
      "/etc/polkit-1/rules.d/10-x.rules":
        "polkit.addRule(function(a, s) { if (a.id == \"org.example.thing.do\" && s.user == \"bob\") return \"yes\"; });",
    ])
    #expect(try people.answer("polkit:\(Self.units)", "bob") == "notRequired")
    #expect(try people.answer("polkit:\(Self.units)") == Self.asked)
  }

  @Test func `a stock desktop has no finding above info`() throws {
    let people = try polkit([
      "/usr/share/polkit-1/actions/d.policy": Self.policy(
        "org.freedesktop.login1.power-off", any: "auth_admin_keep", active: "yes"),
      "/usr/share/polkit-1/rules.d/org.freedesktop.packagekit.rules": """
      polkit.addRule(function(action, subject) {
          if ((action.id == "org.freedesktop.packagekit.package-install" ||
               action.id == "org.freedesktop.packagekit.package-remove") &&
              subject.active == true && subject.local == true &&
              subject.isInGroup("wheel")) {
                  return polkit.Result.YES;
          }
      });
      """,
    ])
    let evidence = Judge.evidence(of: try people.facts, under: .entry)
    #expect(evidence.checks.first { $0.name == .elevation }?.result == .success)
    #expect(evidence.findings.filter { $0.check == .elevation && $0.severity > .info }.isEmpty)
  }

  // MARK: Old systems

  private func old(_ pkla: String) throws -> PeopleTree {
    try PeopleTree(
      services: ["polkit-1"],
      [
        "/usr/bin/pkexec": "", "/usr/share/polkit-1/actions/b.policy": Self.policy(Self.units),
        "/etc/polkit-1/localauthority.conf.d/51-debian-sudo.conf": "[Configuration]\nAdminIdentities=unix-group:sudo\n",
        "/etc/polkit-1/localauthority/50-local.d/x.pkla": pkla,
      ])
  }

  @Test func `the local authority of old systems`() throws {
    let plain = try old("")
    #expect(try plain.answer("polkit") == Self.asked)
    #expect(try plain.door("polkit", "bob")?.whose == .target)
    let people = try old(
      "[Let bob]\nIdentity=unix-user:bob;unix-group:nobodys\nAction=org.freedesktop.systemd1.*\nResultAny=no\nResultInactive=no\nResultActive=yes\n"
    )
    #expect(try people.answer("polkit:\(Self.units)", "bob") == "notRequired")
    #expect(try people.answer("polkit:\(Self.units)") == Self.asked)
  }

  private static let letBob =
    "[Let bob]\nIdentity=unix-user:bob\nAction=org.freedesktop.systemd1.*\nResultAny=no\nResultInactive=no\nResultActive=yes\n"

  @Test(arguments: [
    ("/usr/lib/policykit-1/polkitd", ""),
    ("/var/lib/dpkg/status", "Package: policykit-1\nStatus: install ok installed\nVersion: 0.105-33\n\n"),
  ])
  func `polkit 0.105 reads no rules, whatever packages bring`(_ path: String, _ text: String) throws {
    let people = try old(Self.letBob)
    try people.tree.write(path, text)
    try people.tree.write("/usr/share/polkit-1/rules.d/x.rules", "polkit.addRule(function() { return 'yes'; });")
    #expect(try people.answer("polkit:\(Self.units)", "bob") == "notRequired")
    #expect(try people.answer("polkit:\(Self.units)") == Self.asked)
    #expect(try people.door("polkit", "bob")?.whose == .target)
  }

  @Test func `later ones read .pkla files where a rule asks for them only`() throws {
    let people = try old(Self.letBob)
    try people.tree.write(
      "/var/lib/dpkg/status", "Package: polkitd\nStatus: install ok installed\nVersion: 122-3\n\n")
    #expect(try people.answer("polkit:\(Self.units)", "bob") == Self.asked)
    try people.tree.write(
      "/usr/share/polkit-1/rules.d/49-polkit-pkla-compat.rules",
      """
      polkit.addAdminRule(function(action, subject) {
        var res = polkit.spawn(['/usr/sbin/pkla-admin-identities']);
        return res == '' ? null : res.split('\\n');
      });
      polkit.addRule(function(action, subject) {
        var params = ['/usr/sbin/pkla-check-authorization', subject.user, action.id];
        var res = polkit.spawn(params);
        return res == '' ? null : res.replace(/\\n$/, '');
      });
      """)
    #expect(try people.answer("polkit:\(Self.units)", "bob") == "notRequired")
    #expect(try people.answer("polkit:\(Self.units)") == Self.asked)
    #expect(try people.door("polkit", "bob")?.whose == .target)
    try people.tree.write("/etc/polkit-1/rules.d/10-x.rules", "polkit.addRule(function() { return 'no'; });")
    #expect(try people.answer("polkit:\(Self.units)", "bob") == "closed")
  }

  @Test func `without polkit no door, masked neither`() throws {
    #expect(try PeopleTree().answer("polkit") == "absent")
    let people = try polkit()
    people.tree.link("/etc/systemd/system/polkit.service", to: "/dev/null")
    #expect(try people.answer("polkit") == "absent")
  }
}
