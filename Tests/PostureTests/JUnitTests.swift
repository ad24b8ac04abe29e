import Posture
import PosturePlatform
import Testing

struct JUnitTests {
  private func evidence(_ observed: String) -> Evidence {
    var facts = ProbeResult()
    facts.subjects = [Subject(name: "alice", uid: 1000, kind: .owner, account: .active, password: .set)]
    var open = Door("login@tty1", .entry, "alice", .always, because: [Reason("x", file: "/etc/x", line: 3)])
    open.cause = Cause("openEntry", observed: observed)
    facts.doors = [open, Door("sudo", .elevation, "alice", .always, because: [])]
    return Judge.evidence(of: facts, under: .entry)
  }

  @Test func `required failures fail, what is not required is skipped`() {
    let text = evidence("x").junit(.entry)
    #expect(text.contains("tests=\"10\" failures=\"1\" errors=\"0\" skipped=\"8\""))
    #expect(
      text.contains("name=\"owner-authentication\"><failure message=\"fail\">high openEntry alice: x (/etc/x:3)."))
    #expect(text.contains("name=\"elevation\"><skipped message=\"fail, not required\">"))
    #expect(text.contains("name=\"passcode\"/>"))
  }

  @Test func `hostile text stays text`() throws {
    let text = evidence("</failure><script>\"'&\u{0}\u{1B}[31m\u{FFFE}").junit(.entry)
    #expect(!text.contains("<script>"))
    var parse = Command(
      "/usr/bin/python3", ["-c", "import sys, xml.dom.minidom as m; m.parseString(sys.stdin.buffer.read())"])
    parse.input = Array(text.utf8)
    #expect(try parse.run().status == 0)
  }
}
