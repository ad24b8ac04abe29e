import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// Real accounts, real pam_unix: who gets in with an empty, the right and a wrong password.
@Suite(
  .serialized,
  .enabled(
    if: PAMJudge.isHere && PAMJudge.hasNamespaces && access("/usr/bin/perl", X_OK) == 0,
    "needs cc, libpam, perl, root and mount namespaces"))
struct PAMUnixJudgeTests {
  private static let secret = "Geheim-17"

  /// Hash fields as they are found, and as they are not.
  private static func hashes() throws -> [String] {
    func crypt(_ word: String, _ setting: String) throws -> String {
      let output = try Command("/usr/bin/perl", ["-e", "print crypt($ARGV[0], $ARGV[1])", word, setting]).run()
      return String(decoding: output.out, as: UTF8.self)
    }
    let settings = [
      "$6$saltsalt$", "$5$rounds=1000$saltsalt$", "$1$salt$", "$y$j75$saltsalt$", "$2b$04$abcdefghijklmnopqrstuu", "ab",
    ]
    let real = try settings.map { try crypt(secret, $0) }
    let empty = try settings.map { try crypt("", $0) }
    return real + empty + [
      "", "!", "!!", "*", "!*", "!" + real[0], "!!" + real[0], "x", "NP", "*NP*", "LK", " ", "$6$", "$6$abc",
      "$6$abc$def", "$9$abc$def", real[5] + ",..", empty[5] + ",..", "xQ.oDUO3JLgP", try crypt(secret, "_J9..rasm"),
      "$y$", "$y$j9T", "$7$", "$2b$", "$sha1$", "$5$rounds=1000$abc$tooshort", real[0] + "x",
    ]
  }

  private static let stacks = [
    "auth required pam_unix.so nodelay\n", "auth required pam_unix.so nodelay nullok\n",
    "auth sufficient pam_unix.so nodelay nullokabc\nauth required pam_deny.so\n",
    "auth [success=1 default=ignore] pam_unix.so nodelay nullok_secure\nauth requisite pam_deny.so\n"
      + "auth required pam_permit.so\n",
    "auth required pam_unix.so nodelay nullresetok\n",
    "auth required pam_unix.so nodelay nullok\nauth required pam_unix.so nodelay use_first_pass\n",
  ]

  private static let accountStacks = [
    "account required pam_unix.so\n", "account required pam_unix.so no_pass_expiry\n",
    "account [success=1 new_authtok_reqd=done default=ignore] pam_unix.so\naccount requisite pam_deny.so\n"
      + "account required pam_permit.so\n",
    "account required pam_unix.so broken_shadow\n",
  ]

  @Test(.timeLimit(.minutes(3)))
  func `three answers of many accounts come out as pam_unix has them`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("pam_unix seed \(seed)")
    var random = SplitMix(seed)
    let tree = try JudgedTree()
    let rows = try Self.rows(&random)
    try tree.files.write("/etc/passwd", rows.map(\.passwd).joined())
    try tree.files.write("/etc/shadow", rows.map(\.shadow).joined(), mode: 0o600)
    try tree.files.write("/etc/pam.d/other", "auth required pam_deny.so\n")
    for (index, auth) in Self.stacks.enumerated() {
      for (other, account) in Self.accountStacks.enumerated() {
        try tree.files.write("/etc/pam.d/svc\(index)\(other)", auth + account)
      }
    }
    try compare(tree, rows, seed, &random)
  }

  private struct Row {
    var name: String
    var passwd: String
    var shadow: String
  }

  private static func rows(_ random: inout SplitMix) throws -> [Row] {
    let hashes = try hashes()
    let today = Int(Clock.wall / 86_400)
    var rows = [Row(name: "root", passwd: "root:x:0:0:root:/root:/bin/sh\n", shadow: "root:*:19700:0:99999:7:::\n")]
    for index in 0..<240 {
      let name = "u\(index)"
      let hash = hashes[index % hashes.count]
      let inPasswd = Int.random(in: 0..<10, using: &random)
      let field = inPasswd == 0 ? hash : inPasswd == 1 ? "##\(name)" : "x"
      func day(_ choices: [Int?]) -> String { choices.randomElement(using: &random)!.map(String.init) ?? "" }
      let changed = day([19_700, 19_700, 0, nil, today, today - 5, today + 3, -1])
      let ages = [
        day([nil, 0, 3]), day([nil, 99_999, 10, 0, 4]), day([nil, 7]), day([nil, nil, 0, 30]),
        day([nil, nil, nil, 1, today, today + 2]),
      ]
      let shadow = "\(name):\(hash):\(changed):\(ages.joined(separator: ":")):\n"
      let isMissing = Int.random(in: 0..<15, using: &random) == 0
      rows.append(
        Row(
          name: name, passwd: "\(name):\(field):\(2000 + index):100::/tmp:/bin/sh\n", shadow: isMissing ? "" : shadow))
    }
    return rows
  }

  private func compare(_ tree: JudgedTree, _ rows: [Row], _ seed: UInt64, _ random: inout SplitMix) throws {
    var questions: [PAMJudge.Question] = []
    var asked: [Row] = []
    for row in rows {
      for (service, flags) in Self.calls(row, &random) {
        asked.append(row)
        questions += ["", Self.secret, "wrong"].map {
          PAMJudge.Question(folder: "-", service: service, user: row.name, phase: "both", answer: $0, flags: flags)
        }
      }
    }
    let theirs = try PAMJudge().ask(questions, mounts: tree.mounts(["/etc/passwd", "/etc/shadow", "/etc/pam.d"]))
    let pam = try tree.pam()
    for index in stride(from: 0, to: questions.count, by: 3) {
      let codes = Array(theirs[index..<index + 3])
      try check(pam, questions[index], codes, asked[index / 3], seed)
    }
  }

  /// One stack of all, and every one of them where there is no password: there the options and the flag meet.
  private static func calls(_ row: Row, _ random: inout SplitMix) -> [(service: String, flags: Int)] {
    let all = stacks.indices.flatMap { auth in
      accountStacks.indices.flatMap { account in (0...1).map { ("svc\(auth)\(account)", $0) } }
    }
    return row.shadow.hasPrefix("\(row.name)::") ? all : [all.randomElement(using: &random)!]
  }

  private func check(_ pam: PAM, _ question: PAMJudge.Question, _ codes: [String], _ row: Row, _ seed: UInt64) throws {
    var call = PAM.Call(question.service)
    call.disallowsEmpty = question.flags != 0
    let account = try #require(pam.accounts[question.user])
    let outcome = pam.outcome(of: call, for: account)
    let opening = try #require(outcome.opening, "\(row)")
    let words: Comment = "seed \(seed) \(question.service) flags \(question.flags) \(row): \(codes), ours \(outcome)"
    #expect(opens(opening, []) == (enters(codes[0], account, []) || enters(codes[2], account, [])), words)
    #expect(opens(opening, [.passcode]) == codes.contains { enters($0, account, [.passcode]) }, words)
  }

  private func opens(_ opening: Opening, _ factors: [Factor]) -> Bool {
    opening.sets.contains { $0.isSubset(of: FactorSet(factors)) }
  }

  /// 12: the password has to be changed first, for which the old one is asked.
  private func enters(_ code: String, _ account: Account, _ factors: [Factor]) -> Bool {
    switch account.password {
    case _ where code == "0": true
    case .empty, .emptyHash: code == "12"
    case .set: code == "12" && factors.contains(.passcode)
    default: false
    }
  }
}
