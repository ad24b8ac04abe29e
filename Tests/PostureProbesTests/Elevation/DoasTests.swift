import Glibc
import Posture
import TestKit
import Testing

@testable import PostureProbes

struct DoasTests {
  private func doas(_ text: String, _ files: [String: String] = [:]) throws -> PeopleTree {
    let people = try PeopleTree(["/usr/bin/doas": ""].merging(files) { $1 })
    try people.tree.write("/etc/doas.conf", text, mode: 0o400)
    return people
  }

  struct Rule: CustomStringConvertible, Sendable {
    let text: String
    let alice: String
    var description: String { text }
  }

  static let rules: [Rule] = [
    Rule(text: "permit :wheel", alice: "required passcode"),
    Rule(text: "permit nopass :wheel", alice: "notRequired"),
    Rule(text: "permit nopass alice\npermit persist :wheel", alice: "required passcode"),
    Rule(text: "permit :wheel\npermit nopass alice as root", alice: "notRequired"),
    Rule(text: "permit nopass 1000", alice: "notRequired"),
    Rule(text: "permit nopass :27", alice: "notRequired"),
    Rule(text: "permit nopass :1000", alice: "notRequired"),
    Rule(text: "permit nopass :1002", alice: "closed"),
    Rule(text: "permit nopass alice\ndeny :wheel", alice: "closed"),
    Rule(text: "permit nopass alice as bob", alice: "closed"),
    Rule(text: "permit nopass alice as 0", alice: "notRequired"),
    Rule(text: "permit setenv { A B=c -D } nopass keepenv \"alice\" # why", alice: "notRequired"),
    Rule(text: "permit nopass \\\n alice", alice: "notRequired"),
    Rule(text: "# permit nopass alice", alice: "closed"),
    Rule(text: "permit nopass alice\npermit nonsense alice bob", alice: "closed"),
    Rule(text: "permit nopass alice cmd reboot", alice: "closed"),
    Rule(text: "permit \"nopass", alice: "closed"),
    Rule(text: "# C:\\\npermit nopass alice", alice: "notRequired"),
    Rule(text: "permit nopass alice # \\\ndeny alice", alice: "closed"),
    Rule(text: "permit nopass alice as 00", alice: "notRequired"),
    Rule(text: "permit nopass alice\r", alice: "closed"),
    Rule(text: "permit nopass al\\\nice", alice: "notRequired"),
    Rule(text: "permit nopass \"al\"ice", alice: "notRequired"),
    Rule(text: "permit nopass setenv{A}alice", alice: "notRequired"),
    Rule(text: "permit nopass \"\"\npermit nopass alice", alice: "notRequired"),
    Rule(text: "permit nopass \(String(repeating: "a", count: 1_023))\npermit nopass alice", alice: "notRequired"),
    Rule(text: "", alice: "closed"),
  ]

  @Test(arguments: rules) func `the last rule that matches decides`(_ rule: Rule) throws {
    #expect(try doas(rule.text + "\n").answer("doas") == rule.alice)
  }

  @Test(arguments: [
    "permit nopass persist alice\n", "permit persist nopass alice\n", "deny nopass bob\n", "\"permit\" nopass bob\n",
    "permit setenv { A } setenv { B } bob\n", "permit setenv { cmd } bob\n", "permit bob cmd ls args as\n",
    "permit {alice}\n", "permit \\\nnopass alice\n", "permit bob \\\ncmd ls\n",
    "permit \(String(repeating: "a", count: 1_024))\n", "permit \"al\\\nice\"\n", "permit bob\0\n",
    "permit nopass alice", "permit nopass alice # c", "permit nopass alice \\\n", "\\",
  ])
  func `what doas refuses, it refuses as a whole`(_ last: String) throws {
    let people = try doas("permit nopass alice\n" + last)
    #expect(try people.answer("doas") == "closed")
    #expect(try people.codes().contains("doasRefused"))
  }

  @Test(arguments: ["# c", "  ", "\\\n", "\n"])
  func `the end of the file ends no rule, and need not end anything else`(_ last: String) throws {
    #expect(try doas("permit nopass alice\n" + last).answer("doas") == "notRequired")
  }

  @Test func `single commands have rows of their own`() throws {
    let people = try doas(
      "permit nopass alice cmd /sbin/reboot\npermit nopass alice cmd /bin/sh\npermit nopass alice cmd cp args\n")
    #expect(try people.answer("doas:/sbin/reboot") == "notRequired")
    #expect(try people.door("doas:/sbin/reboot", "alice")?.counts == false)
    #expect(try people.door("doas:/bin/sh", "alice")?.counts == true)
    #expect(try people.door("doas:cp", "alice")?.counts == false)
  }

  @Test func `a group that is named like a number is that group`() throws {
    let groups = "root:x:0:\nsudo:x:27:alice\nalice:x:1000:\nbob:x:1001:\n27:x:1003:bob\n"
    let people = try doas("permit nopass :27\n", ["/etc/group": groups])
    #expect(try people.answer("doas") == "closed")
    #expect(try people.answer("doas", "bob") == "notRequired")
  }

  @Test func `a program that its user may replace amounts to root`() throws {
    let people = try doas("permit nopass alice cmd /bin/sh args /home/alice/run\n")
    #expect(try people.door("doas:/bin/sh /home/alice/run", "alice")?.counts == true)
  }

  @Test func `a file that others may write stops doas`() throws {
    let people = try doas("permit nopass alice\n")
    chmod(people.tree.place("/etc/doas.conf"), 0o664)
    #expect(try people.answer("doas") == "closed")
    #expect(try people.codes().contains("doasRefused"))
  }

  @Test func `Alpine reads the directory too, and only Alpine does`() throws {
    let extra = ["/etc/doas.d/x.conf": "permit nopass alice\n", "/etc/doas.d/y": "deny alice\n"]
    #expect(try doas("permit alice\n", extra).answer("doas") == "required passcode")
    let alpine = extra.merging(["/etc/os-release": "ID=alpine\n"]) { $1 }
    #expect(try doas("permit alice\n", alpine).answer("doas") == "notRequired")
  }

  @Test func `PAM decides where it has a service`() throws {
    let people = try doas(
      "permit alice\n", ["/etc/pam.d/doas": "auth sufficient pam_permit.so\naccount required pam_permit.so\n"])
    #expect(try people.answer("doas") == "notRequired")
  }

  @Test func `no program, no door; a stranger is a remark`() throws {
    #expect(try PeopleTree(["/etc/doas.conf": "permit nopass alice\n"]).answer("doas") == "absent")
    let people = try doas("permit nopass acme\n")
    #expect(try people.codes() == ["doasUnknownUser"])
    #expect(try people.answer("doas", "acme") == "absent")
  }
}

struct SuTests {
  @Test func `root's password is asked, and none opens`() throws {
    let people = try PeopleTree(services: ["su"], ["/usr/bin/su": ""])
    #expect(try people.answer("su") == "required passcode")
    #expect(try people.door("su", "alice")?.whose == .root)
    #expect(try people.answer("su", "root") == "absent")
    try people.tree.write("/etc/shadow", "root:!:1::::::\nalice:\(PeopleTree.hash):1::::::\n")
    #expect(try people.answer("su") == "closed")
    try people.tree.write("/etc/shadow", "root::1::::::\nalice:\(PeopleTree.hash):1::::::\n")
    #expect(try people.answer("su") == "notRequired")
  }

  @Test func `pam_rootok is for root only`() throws {
    let people = try PeopleTree([
      "/usr/bin/su": "",
      "/etc/pam.d/su": "auth sufficient pam_rootok.so\n@include common-auth\n@include common-account\n",
    ])
    #expect(try people.answer("su") == "required passcode")
  }

  @Test func `the weaker of su and su-l counts`() throws {
    let people = try PeopleTree(
      services: ["su"],
      [
        "/usr/bin/su": "", "/etc/pam.d/su-l": "auth sufficient pam_permit.so\naccount required pam_permit.so\n",
      ])
    #expect(try people.answer("su") == "notRequired")
  }

  @Test func `BusyBox compares by itself`() throws {
    let people = try PeopleTree(["/bin/busybox": ""])
    people.tree.link("/bin/su", to: "busybox")
    #expect(try people.answer("su") == "required passcode")
  }

  @Test(arguments: [
    ("*", PeopleTree.hash, "required passcode"), ("*", "!", "closed"), ("*", "", "notRequired"),
    ("!", PeopleTree.hash, "closed"), ("##root", PeopleTree.hash, "closed"),
    (PeopleTree.hash, "!", "required passcode"),
  ])
  func `BusyBox asks shadow where passwd has a cross or a star`(field: String, hash: String, wanted: String) throws {
    let people = try PeopleTree([
      "/bin/busybox": "", "/etc/shadow": "root:\(hash):19700::::::\n",
      "/etc/passwd": "root:\(field):0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n",
    ])
    people.tree.link("/bin/su", to: "busybox")
    #expect(try people.answer("su") == wanted)
  }
}

struct GroupTests {
  private static let groups =
    "root:x:0:\nalice:x:1000:\nbob:x:1001:\ndocker:x:999:bob\ndisk:x:6:alice\nshadow:x:42:alice\n"

  @Test func `a group counts while its service is there`() throws {
    let people = try PeopleTree(["/etc/group": Self.groups])
    #expect(try people.answer("group:docker", "bob") == "absent")
    try people.tree.write("/usr/bin/dockerd", "")
    #expect(try people.answer("group:docker", "bob") == "notRequired")
    #expect(try people.answer("group:docker") == "absent")
    #expect(try people.door("group:docker", "bob")?.cause?.code == "rootEquivalentGroup")
  }

  @Test func `a masked service gives nothing`() throws {
    let people = try PeopleTree([
      "/etc/group": Self.groups, "/usr/bin/dockerd": "", "/usr/lib/systemd/system/docker.service": "",
    ])
    people.tree.link("/etc/systemd/system/docker.service", to: "/dev/null")
    #expect(try people.answer("group:docker", "bob") == "absent")
  }

  @Test func `disk and shadow`() throws {
    let people = try PeopleTree(["/etc/group": Self.groups])
    #expect(try people.answer("group:disk") == "notRequired")
    #expect(try people.answer("group:shadow") == "notRequired")
    chmod(people.tree.place("/etc/shadow"), 0o600)
    #expect(try people.answer("group:shadow") == "absent")
  }
}
