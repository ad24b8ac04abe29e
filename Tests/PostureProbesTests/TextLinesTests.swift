import Posture
import TestKit
import Testing

@testable import PostureProbes

/// Lines of files that were written on another system.
struct TextLinesTests {
  @Test func `a line ends at its line feed, and blanks go at both ends`() {
    #expect("a\r\nb\n\nc\r".lines() == ["a\r", "b", "c\r"])
    #expect("a\r\n\r\n".lines(keepsEmpty: true) == ["a\r", "\r", ""])
    #expect("a\nb\nc".lines(keepsEmpty: true, most: 1) == ["a", "b\nc"])
    #expect("".lines().isEmpty)
    #expect(" \t\u{e9} b\r\n".trimmed == "\u{e9} b")
    #expect("\r\n \t".trimmed.isEmpty)
    let lines = Array(LogicalLines("# x\r\na\\\r\n  b\r\n\r\nc", comments: ["#"]))
    #expect(lines == [.init(text: "a b", number: 2), .init(text: "c", number: 5)])
  }

  @Test(arguments: [
    ("a\\\nb", ["1 a b"]), ("a\\\\\nb", ["1 a\\\\", "2 b"]), ("a\\ \nb", ["1 a\\", "2 b"]), ("a\\", ["1 a"]),
    ("a\\\n", ["1 a"]), ("\\\n\n b", ["3 b"]), ("a\\\n#x\n;y\n \u{e9}\nz", ["1 a \u{e9}", "5 z"]), ("", []),
    ("\n \n", []),
  ])
  func `lines are joined at a last backslash that no other one stands before`(text: String, expected: [String]) {
    #expect(LogicalLines(text).map { "\($0.number) \($0.text)" } == expected)
  }

  /// The programs that read these files pass over the carriage returns, or take them off.
  @Test func `files with carriage returns say the same`() throws {
    func crlf(_ text: String) -> String { text.split(separator: "\n").joined(separator: "\r\n") + "\r\n" }
    let lightdm = try GLibKeyFile(crlf("[Seat:*]\nautologin-user=alice\n"))
    #expect(lightdm.entry("Seat:*", "autologin-user")?.value == "alice")
    let sddm = SDDM.parse(crlf("[Autologin]\nUser=alice\nSession=plasma\n"), path: "/x")
    #expect(sddm.map(\.text) == ["alice", "plasma"])
    #expect(TOMLTable(crlf("[initial_session]\nuser = \"a\"\n"))["initial_session", "user"]?.text == "a")
    #expect(Crypttab.parse(crlf("a UUID=1 none luks\nb UUID=2 /k luks\n")).map(\.keyFile) == [nil, "/k"])
    let unit = UnitFile.parse(crlf("[Service]\nExecStart=\nExecStart=/sbin/agetty -a pi -\n"), path: "/x")
    #expect(unit.map(\.value) == ["", "/sbin/agetty -a pi -"])
    let tree = try FixtureTree([
      "/etc/login.defs": crlf("UID_MIN 500\nUID_MAX 600\n"), "/etc/nsswitch.conf": crlf("passwd: files sss\n"),
      "/etc/os-release": crlf("ID=debian\nVERSION_ID=\"12\"\n"),
    ])
    let system = try System(root: tree.root)
    #expect(LoginDefinitions(system).isRegular(550) && !LoginDefinitions(system).isRegular(1000))
    #expect(NameSources(system).external == ["sss"])
    #expect(Distribution(system).id == "debian" && Distribution(system).release == "12")
  }
}
