import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureProbes

/// Our reading of sudoers(5) against sudo's own programs.
@Suite(.serialized) struct SudoersDifferentialTests {
  private static let isLong = Long.isWanted
  private static let hasParser = access("/usr/bin/cvtsudoers", X_OK) == 0
  /// sudo takes its rules from /etc/sudoers only: a mount namespace of its own puts ours there.
  private static let canRun =
    geteuid() == 0 && access("/usr/bin/sudo", X_OK) == 0
    && (try? Command("/usr/bin/unshare", ["-m", "/bin/true"]).run().status) == 0

  private static var seed: UInt64 {
    getenv("POSTURE_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...UInt64.max)
  }

  private static var hostName: String {
    var buffer = [CChar](repeating: 0, count: 256)
    gethostname(&buffer, 255)
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  // MARK: Grammar

  @Test(.enabled(if: hasParser, "cvtsudoers is not installed"))
  func `our parser reads what cvtsudoers reads`() throws {
    let seed = Self.seed
    print("sudoers grammar, seed \(seed)")
    let tree = try FixtureTree()
    var compared = 0
    for index in 0..<(Self.isLong ? 500 : 60) {
      var generator = RandomSudoers(seed: seed &+ UInt64(index), hostName: Self.hostName)
      let text = generator.text(withErrors: index % 4 == 0) + "@includedir sudoers.d\n"
      try tree.write("/etc/sudoers", text, mode: 0o440)
      for name in ["10-a", "20-b", "30.conf", "40-c~"] {
        try tree.write("/etc/sudoers.d/\(name)", generator.rules(), mode: 0o440)
      }
      let source = SudoersSource("/etc/sudoers", on: try System(root: tree.root), hostName: "h")
      let (own, problems) = SudoersParser.parse(source)
      let theirs: Sudoers
      do throws(CvtSudoers.Failure) { theirs = try Self.read(tree.place("/etc/sudoers")) } catch {
        // 1.9.13 writes no JSON for some rules that it accepts: there ours stands alone.
        if error != .unintelligible {
          #expect(!problems.isEmpty, "seed \(seed &+ UInt64(index)): they refuse (\(error)), we do not:\n\(text)")
        }
        continue
      }
      compared += 1
      #expect(problems.isEmpty, "seed \(seed &+ UInt64(index)): we refuse \(problems), they do not:\n\(text)")
      let difference = Self.difference(Self.shown(own), Self.shown(theirs))
      #expect(difference == nil, "seed \(seed &+ UInt64(index)):\n\(text)")
    }
    #expect(compared > 20)
  }

  /// With the includes followed by the tool itself.
  private static func read(_ path: String) throws(CvtSudoers.Failure) -> Sudoers {
    // It includes only what is root's: in a user namespace of our own that is what is ours.
    let rootly = geteuid() == 0 ? [] : ["/usr/bin/unshare", "--user", "--map-root-user"]
    let words = rootly + [Tool.cvtsudoers.rawValue, "-e", "-f", "json", path]
    guard let output = try? Command(words[0], Array(words.dropFirst())).run() else { throw .notInstalled }
    // There root's own file is a stranger's, which it says and goes on.
    let complaints = String(decoding: output.err, as: UTF8.self).split(separator: "\n")
      .filter { rootly.isEmpty || !$0.contains("/etc/sudo.conf is owned by") }
    guard output.status == 0, complaints.isEmpty else { throw .refused(complaints.joined(separator: "\n")) }
    guard let json = try? JSONParser.parse(output.out, limits: .foreign) else { throw .unintelligible }
    return try CvtSudoers.sudoers(json)
  }

  private static func difference(_ own: [String], _ theirs: [String]) -> String? {
    if let pair = zip(own, theirs).first(where: { $0 != $1 }) { return "ours \(pair.0), theirs \(pair.1)" }
    return own.count == theirs.count ? nil : "\(own.count) lines, theirs \(theirs.count)"
  }

  /// The tool's JSON does not tell users from run-as users.
  private static func shown(_ sudoers: Sudoers) -> [String] {
    let rules = sudoers.rules.flatMap { rule in
      // ALL implies SETENV, which the tool's JSON shows for its neighbours instead, or not at all.
      let hasAll = rule.grants.contains { $0.command.name == .all }
      return ["\(shown(rule.users)) @ \(shown(rule.hosts))"]
        + rule.grants.map { grant in
          let runas = [grant.runasUsers, grant.runasGroups].map { $0.map(shown) ?? "-" }.joined(separator: ":")
          let tags = [grant.asksPassword, hasAll ? nil : grant.setsEnvironment].map { $0.map(String.init) ?? "-" }
          return "(\(runas)) \(tags.joined(separator: " ")) \(shown([grant.command]))"
        }
    }
    let settings = sudoers.settings.map { setting in
      let scope =
        switch setting.scope {
        case .everybody: "-"
        case .users(let items), .runas(let items): "users \(shown(items))"
        case .hosts(let items): "hosts \(shown(items))"
        case .commands(let items): "commands \(shown(items))"
        }
      return "\(scope) \(setting.name) \(setting.value ?? "-") \(setting.isOn)"
    }
    return rules + settings
  }

  private static func shown(_ items: [Sudoers.Item]) -> String {
    items.map { "\($0.isNegated ? "!" : "")\($0.name)" }.joined(separator: ",")
  }

  // MARK: Judgement

  private static let users = [("pta", 61001), ("ptb", 61002), ("ptc", 61003)]
  private static let commands = ["/usr/bin/id", "/usr/bin/true", "/usr/bin/env"]

  @Test(.enabled(if: canRun && hasParser, "needs root, sudo and mount namespaces"))
  func `what is allowed, and without a password, is what sudo does`() throws {
    let seed = Self.seed
    print("sudo judgement, seed \(seed)")
    let count = Self.isLong ? 500 : 25
    let folder = try FixtureTree()
    try Self.writePeople(folder)
    for index in 0..<count {
      var generator = RandomSudoers(seed: seed &+ UInt64(index), hostName: Self.hostName, withSelf: false)
      try folder.write("/rules/\(index)", generator.text(withErrors: false), mode: 0o440)
    }
    try folder.write("/run.sh", Self.script(count), mode: 0o755)
    var command = Command("/usr/bin/unshare", ["-m", "/bin/sh", folder.place("/run.sh"), folder.root])
    command.timeout = 500_000
    let output = try command.run()
    let answers = String(decoding: output.out, as: UTF8.self).split(separator: "\n").map(String.init)
    #expect(
      answers.count == count * Self.users.count * Self.commands.count, "\(String(decoding: output.err, as: UTF8.self))")
    var expected = answers[...]
    for index in 0..<count {
      let judge = try Self.judge(folder, index)
      let text = try folder.text("/rules/\(index)")
      for (name, _) in Self.users {
        for program in Self.commands {
          guard let theirs = expected.popFirst() else { return }
          let ours = Self.answer(judge.0, judge.1[name], program)
          #expect(
            ours == theirs, "seed \(seed &+ UInt64(index)) \(name) \(program):\n\(text)")
        }
      }
    }
  }

  private static func answer(_ judge: SudoersJudge, _ account: Account?, _ program: String) -> String {
    guard let account else { return "no account" }
    let decision = judge.decide(.named("\(program) \"\""), for: .account(account))
    if !decision.isAllowed { return "denied" }
    return decision.asksPassword ? "asks" : "free"
  }

  private static func judge(_ folder: FixtureTree, _ index: Int) throws -> (SudoersJudge, Accounts) {
    let system = try System(root: folder.root)
    let source = SudoersSource("/rules/\(index)", on: system, hostName: hostName)
    let accounts = Accounts(system)
    let sudoers = SudoersParser.parse(source).0
    var host = HostName(try System())
    host.isResolved = SudoProgram.resolvesHost(sudoers.settings, try System())
    let judge = SudoersJudge(
      sudoers: sudoers, accounts: accounts, groups: GroupNumbers(system), host: host,
      now: CalendarTime.text(system.now) + "Z", main: Place("/etc/sudoers"))
    return (judge, accounts)
  }

  private static func writePeople(_ folder: FixtureTree) throws {
    let people = users.map { "\($0.0):x:\($0.1):\($0.1)::/:/bin/sh\n" }.joined()
    try folder.write("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n" + people)
    try folder.write("/etc/shadow", "root:*:1::::::\n" + users.map { "\($0.0):*:19700::::::\n" }.joined(), mode: 0o640)
    try folder.write(
      "/etc/group",
      "root:x:0:\nptg:x:61011:pta\npth:x:61012:pta,ptb\n" + users.map { "\($0.0):x:\($0.1):\n" }.joined())
    try folder.write(
      "/etc/pam.d/sudo", "auth required pam_deny.so\naccount required pam_permit.so\nsession required pam_permit.so\n")
  }

  /// Three words for each command: allowed is asked by root, free is tried by the person.
  private static func script(_ count: Int) -> String {
    let groups = ["pta": "61011,61012", "ptb": "61012", "ptc": "61003"]
    let tries = users.flatMap { name, uid in
      commands.map { program in
        """
        if sudo -U \(name) -l -u root \(program) >/dev/null 2>&1; then
          if setpriv --reuid \(uid) --regid \(uid) --groups \(groups[name]!) sudo -n -u root \(program) >/dev/null 2>&1
          then echo free; else echo asks; fi
        else echo denied; fi

        """
      }
    }
    return """
      set -e
      cd "$1"
      for f in passwd shadow group pam.d/sudo; do mount --bind "etc/$f" "/etc/$f"; done
      cp rules/0 current; chmod 0440 current; mount --bind current /etc/sudoers
      set +e
      i=0
      while [ $i -lt \(count) ]; do
      cat rules/$i > /etc/sudoers
      \(tries.joined())
      i=$((i + 1))
      done
      """
  }
}

extension FixtureTree {
  fileprivate func text(_ path: String) throws -> String {
    String(decoding: try AtomicFile.readAny(place(path)), as: UTF8.self)
  }
}
