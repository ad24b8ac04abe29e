import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureProbes

/// Our reading of passwd(5) and shadow(5) against the C library's.
struct AccountRowsTests {
  private static let pieces = [
    "", "alice", "x", "*", "!", "$6$a$b", "0", "1", "7", "-1", "+3", " 4", "5 ", "99999", "4294967295", "4294967296",
    "9999999999999999999999", "0x10", "07", "/bin/sh", "/home/a", "#", "1000", "\t2",
  ]

  private static func row(_ random: inout SplitMix, _ fields: ClosedRange<Int>) -> String {
    let count = Int.random(in: fields, using: &random)
    // Most rows are nearly right, so that what differs is one thing.
    let parts = (0..<count).map { index in
      if index == 0 { return Int.random(in: 0..<8, using: &random) == 0 ? "#a" : "alice" }
      return Bool.random(using: &random)
        ? "\(Int.random(in: 0...20, using: &random))" : pieces.randomElement(using: &random)!
    }
    let blank = Int.random(in: 0..<6, using: &random) == 0 ? "  " : ""
    return blank + parts.joined(separator: ":")
  }

  @Test func `rows are those that the C library reads`() throws {
    let seed = getenv("POSTURE_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...UInt64.max)
    print("rows of accounts, seed \(seed)")
    var random = SplitMix(seed)
    let rows = (0..<(Long.isWanted ? 50_000 : 3_000)).map { index in
      index % 2 == 0 ? ("p", Self.row(&random, 3...9)) : ("s", Self.row(&random, 2...11))
    }
    var judge = Command("/usr/bin/python3", [Repository.path("Tests/Judges/account_judge.py")])
    judge.input = Array(rows.map { "\($0.0) \($0.1)\n" }.joined().utf8)
    judge.timeout = 60_000
    judge.cap = 64 << 20
    let answers = String(decoding: try judge.run().out, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false)
    try #require(answers.count == rows.count + 1)
    for (row, answer) in zip(rows, answers) {
      let own = row.0 == "p" ? Self.passwd(row.1) : Self.shadow(row.1)
      #expect(own == String(answer), "seed \(seed): \(row.0) '\(row.1)'")
    }
  }

  private static func passwd(_ row: String) -> String {
    guard let tree = try? FixtureTree(["/etc/passwd": row + "\n"]), let system = try? System(root: tree.root),
      let account = Accounts(system).all.first
    else { return "-" }
    let hash = account.isUnshadowed ? account.hash ?? "" : "x"
    return "\(account.name)\t\(hash)\t\(account.uid)\t\(account.gid)\t\(account.home)\t\(account.shell)"
  }

  private static func shadow(_ row: String) -> String {
    let table = ColonTable("/etc/shadow", Array(row.utf8))
    guard let fields = table.rows.first?.fields, let age = PasswordAge(fields) else { return "-" }
    return "\(fields[0])\t\(fields[1])\t\(age.changed)\t\(age.maximum)\t\(age.inactive)\t\(age.expiry)"
  }

  @Test func `numbers as strtoul reads them`() {
    #expect(CNumber.unsigned(" +12") == 12)
    #expect(CNumber.unsigned("4294967295") == .max)
    for text in ["", "-1", "1 ", "1x", "4294967296", "+", "0x1"] { #expect(CNumber.unsigned(text) == nil) }
    #expect(CNumber.orNone("") == .max)
  }

  @Test func `a member of a second row is a member, a row without members is a group`() throws {
    let tree = try FixtureTree([
      "/etc/passwd": "alice:x:1000:1000::/home/alice:/bin/sh\n",
      "/etc/group": "wheel:x:10:bob\nwheel:x:10:alice\nplain:x:1000\n",
    ])
    let accounts = Accounts(try System(root: tree.root))
    #expect(accounts["alice"]?.groups == ["wheel", "plain"])
  }

  @Test func `netgroups of the file`() throws {
    let text = """
      admins (,alice,) (-,bob,) \\
        others
      others (host1,carol,dom) admins
      any (,,)
      """
    let tree = try FixtureTree(["/etc/netgroup": text])
    let groups = Netgroups(try System(root: tree.root), ["files"], hasDirectory: false)
    #expect(groups.contains("admins", user: "alice") == true)
    #expect(groups.contains("admins", user: "carol") == true)
    #expect(groups.contains("admins", user: "dave") == false)
    #expect(groups.contains("others", host: "host1", user: "carol") == true)
    #expect(groups.contains("others", host: "host2", user: "carol") == false)
    #expect(groups.contains("admins", host: "host9", user: "bob") == false)
    #expect(groups.contains("any", user: "x") == true)
    #expect(groups.contains("gone", user: "x") == false)
    #expect(Netgroups(try System(root: tree.root), ["nis"], hasDirectory: true).contains("admins", user: "x") == nil)
  }

  @Test func `hashes that take long are tried so far, and no farther`() {
    // 656,000 rounds is what a common tool asks for.
    let tail = "cXawr0MBtqJ/0M4XkAeWdDvGZQnTOlQ4oCnAe8CNHMoTkEl1wXu8tQs0tFJvQ4.Tf2T6tP0cC2nLq0bDTQF1ab"
    let usual = "$6$rounds=656000$abcdefgh$\(tail.prefix(86))"
    #expect(PasswordField(usual).password == .set)
    let start = Clock.monotonicMilliseconds
    let many = (0..<40).map { PasswordField("$6$rounds=656000$salt\($0)$\(tail.prefix(86))") }
    #expect(many.contains { $0.isTooCostly })
    #expect(Clock.monotonicMilliseconds - start < 30_000)
  }
}
