import Posture
import Testing

@testable import PostureTerminal

/// Rows on a terminal of few columns, in letters of any width.
@Suite struct TableTests {
  @Test(arguments: [
    ("", 0), ("edge-1", 6), ("für", 3), ("fu\u{308}r", 3), ("日本", 4), ("한글", 4), ("ｆｗ", 4), ("カナ", 4), ("🔒", 2),
    ("👩‍🔧", 2), ("🇩🇪", 2), ("→ … •", 5), ("абв", 3), ("𠀀", 2),
  ])
  func `letters are as wide as a terminal shows them`(_ text: String, _ columns: Int) {
    #expect(Columns.count(text) == columns, "\(text)")
  }

  @Test func `text is broken and shortened by columns`() {
    #expect(Columns.pieces("日本語ab", 4) == ["日本", "語ab"])
    #expect(Columns.pieces("a日本", 2) == ["a", "日", "本"])
    #expect(Columns.pieces("日", 1) == ["日"])
    #expect(Columns.shortened("日本語日本語", to: 6) == "日本…")
    #expect(Columns.shortened("edge-1", to: 6) == "edge-1")
  }

  @Test func `columns stand below each other whatever is in them`() {
    var table = Table("DEVICE", "STATE", "WHY")
    for name in ["edge-1", "日本の機械", "🔒"] { table.add(Table.Cell(name), "pass", "why") }
    for line in table.lines(width: 80).dropFirst() {
      #expect(Columns.count(line[..<(line.firstIndex(of: "w") ?? line.endIndex)]) == 19, "\(line)")
    }
  }

  /// Names of doors are as long as those of polkit's actions, and so are their files.
  private static let evidence: JSON = [
    "doors": .array([
      [
        "door": "polkit:org.freedesktop.packagekit.package-install-untrusted", "subject": "cloudsdk",
        "answer": "closed", "opensWith": [],
        "because": [
          [
            "code": "polkit.default",
            "file": "/usr/share/polkit-1/actions/org.freedesktop.packagekit.policy", "line": 224,
          ]
        ],
      ],
      [
        "door": "ssh@sshd", "subjects": .array((0..<30).map { .string("user-\($0)") }), "answer": "notRequired",
        "opensWith": [[]], "because": [["code": "sshd.noKey", "file": "/etc/ssh/sshd_config", "line": 3]],
      ],
    ])
  ]

  @Test(arguments: [80, 100, 132, 200])
  func `the table of doors fits, and its paths stay whole`(_ width: Int) {
    let lines = EvidenceLines(Self.evidence).doors(width: width)
    #expect(lines.allSatisfy { Columns.count($0) <= width }, "\(lines)")
    #expect(lines.contains { $0.contains("/usr/share/polkit-1/actions/org.freedesktop.packagekit.policy:224") })
    #expect(lines.contains { $0.contains("user-29") })
    // Nothing of what was broken is lost.
    func letters(_ lines: [String]) -> [Character] { lines.joined().filter { $0 != " " }.sorted() }
    #expect(letters(lines) == letters(EvidenceLines(Self.evidence).doors(width: 1_000)))
  }

  @Test func `a row whose columns have room stays on one line`() {
    var table = Table("DOOR", "ANSWER", "WHY")
    table.flowsBeneath = true
    table.add("su", "closed", "pam.deny /etc/pam.d/common-auth:19")
    #expect(
      table.lines(width: 80) == ["DOOR  ANSWER  WHY", "su    closed  pam.deny /etc/pam.d/common-auth:19"])
  }

  @Test func `a column that is too wide is narrowed, whatever table it is in`() {
    var table = Table("DEVICE", "ANSWER", "WHY")
    table.add(Table.Cell(String(repeating: "a", count: 63)), Table.Cell(String(repeating: "b", count: 30)), "no answer")
    let lines = table.lines(width: 80)
    #expect(lines.allSatisfy { Columns.count($0) <= 80 }, "\(lines)")
    let text = lines.joined()
    #expect(text.filter { $0 == "a" }.count == 63 + 1 && text.filter { $0 == "b" }.count == 30)
  }
}
