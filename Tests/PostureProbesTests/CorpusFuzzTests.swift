import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureProbes

/// The files of all situations, cut, spliced and changed, into the parsers that they are for: none crashes, takes longer
/// than a tenth of a second, or keeps memory.
@Suite(.serialized) struct CorpusFuzzTests {
  private typealias Parser = @Sendable ([UInt8]) -> Void

  /// By a part of the path: the first that fits.
  private static let parsers: [(part: String, parser: Parser)] = [
    ("/pam.d/", pam), ("/pam.conf", pam), ("/passwd", accounts), ("/shadow", accounts), ("/group", accounts),
    ("/systemd/", units), ("/inittab", texts), ("/sudoers", sudoers), ("/polkit-1/rules.d/", rules),
    ("/polkit-1/actions/", policies), ("/sshd_config", ssh), ("/authorized_keys", ssh), ("/dconf/", databases),
    ("/doas", doas),
  ]

  private static let pam: Parser = { bytes in
    for rules in [PAM.LineRules.before16, .since16] {
      let dialect = PAM.Dialect(lines: rules, hasAtInclude: true, limitsIncludes: true)
      var builder = PAM.StackBuilder(dialect) { name, _ in .success(("/etc/pam.d/\(name)", bytes)) }
      _ = try? builder.read(service: "login")
    }
  }
  private static let accounts: Parser = { bytes in
    for row in ColonTable("/etc/passwd", bytes).rows { _ = PasswordAge(row.fields) }
  }
  private static let units: Parser = { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    let unit = Unit(
      name: UnitName("getty@tty1.service")!, fragment: nil, isMasked: false, settings: UnitFile.parse(text, path: "/x"))
    for command in unit.commands(environment: unit.environment { _ in text }).prefix(20) {
      _ = GettyOptions(command.words).loginArguments
    }
  }
  private static let sudoers: Parser = { bytes in
    for line in bytes.split(separator: 10) {
      var scanner = SudoersScanner(Array(line))
      _ = try? SudoersParser.list(&scanner) { (s) throws(SudoersSyntaxError) in try s.user() }
      _ = scanner.takeSpaced("=")
      _ = try? SudoersGrants.read(&scanner)
    }
  }
  private static let rules: Parser = { bytes in
    guard let tokens = PolkitTokens.read(bytes) else { return }
    let question = PolkitEvaluator.Question(action: "org.a.b", user: "u", isInGroup: { _ in nil }, groups: nil)
    for rule in PolkitRuleFile.rules(of: tokens, "/x", isVendor: false) {
      var evaluator = PolkitEvaluator(question, globals: rule.globals)
      if let function = rule.function { _ = evaluator.results(of: function) }
    }
  }
  private static let policies: Parser = { bytes in _ = PolkitPolicyFile.actions(of: bytes, "/x") }
  private static let databases: Parser = { bytes in
    let database = GVDB(bytes)
    for key in ["/org/gnome/desktop/session/idle-delay", "/a"] {
      _ = database?.value(key)
      _ = database?.contains(key, table: ".locks")
    }
  }
  private static let doas: Parser = { bytes in
    var lines = DoasLines(bytes)
    while let line = lines.next() { _ = DoasConfiguration.Rule(line.words, Place("/x"), line.text) }
  }
  private static let ssh: Parser = { bytes in
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      guard let words = SSHDWords.split(line) else { continue }
      _ = AuthorizedKeys.Entry(line)
      let criteria = SSHDCriteria(words)
      _ = criteria.matches(SSHDPerson(name: "a", groups: ["b"]), .ordinary)
    }
  }
  private static let texts: Parser = { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    _ = InittabEntry.parse(text)
    _ = InittabEntry.busybox(text)
    _ = try? GLibKeyFile(text)
    _ = SDDM.parse(text, path: "/x")
    _ = TOMLTable(text)["a", "b"]
    _ = GrubUsers(text, path: "/x") { _ in nil }
    for line in LogicalLines(text).prefix(50) {
      _ = PAM.LogicField(line.text).holds { PAM.WeekTime(day: 1, clock: 900).isWithin($0) }
      _ = PolkitExpression(line.text, flags: "i")?.firstMatch(in: "org.freedesktop.policykit.exec")
    }
  }

  private static let corpus: [(bytes: [UInt8], parser: Parser)] = {
    var files: [(bytes: [UInt8], parser: Parser)] = []
    func walk(_ folder: String) {
      for name in (try? Directory.names(in: folder)) ?? [] {
        let path = "\(folder)/\(name)"
        var status = stat()
        guard lstat(path, &status) == 0 else { continue }
        if status.st_mode & S_IFMT == S_IFDIR { walk(path) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size > 0, status.st_size < 16_384,
          let bytes = try? AtomicFile.readAny(path)
        else { continue }
        files.append((bytes, parsers.first { path.contains($0.part) }?.parser ?? texts))
      }
    }
    for situation in Case.all { walk("\(situation.folder)/root/etc") }
    for situation in Case.all { walk("\(situation.folder)/root/usr") }
    for situation in Case.all { walk("\(situation.folder)/root/home") }
    return files
  }()

  private static func changed(_ bytes: [UInt8], _ random: inout SplitMix) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...6, using: &random) where !bytes.isEmpty {
      let at = Int.random(in: 0..<bytes.count, using: &random)
      let end = min(bytes.count, at + Int.random(in: 0...24, using: &random))
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes.removeSubrange(at..<end)
      case 2: bytes.insert(contentsOf: bytes[at..<end], at: at)
      case 3: bytes.insert(Array("\n\\\"'#[]{}()=:,!%*$ \t\0".utf8).randomElement(using: &random)!, at: at)
      case 4: bytes.removeLast(bytes.count - at)
      default:
        let other = corpus.randomElement(using: &random)!.bytes
        bytes.insert(contentsOf: other.prefix(40), at: at)
      }
    }
    return bytes
  }

  @Test(.timeLimit(.minutes(30)))
  func `changed files of the situations`() throws {
    let seed = getenv("POSTURE_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...UInt64.max)
    let count = Long.isWanted ? 1_000_000 : 4_000
    var random = SplitMix(seed)
    try #require(Self.corpus.count > 300)
    let before = Measure.residentBytes
    var slowest: Int64 = 0
    for round in 0..<count {
      let (original, parser) = Self.corpus.randomElement(using: &random)!
      let bytes = Self.changed(original, &random)
      var time = Self.time { parser(bytes) }
      // Other suites use the processor too: what is slow has to be so again.
      for _ in 0..<3 where time > 100_000_000 { time = min(time, Self.time { parser(bytes) }) }
      slowest = max(slowest, time)
      #expect(time <= 100_000_000, "seed \(seed), round \(round): \(time / 1_000_000) ms for \(bytes.count) bytes")
    }
    let grown = (Measure.residentBytes - before) >> 20
    print(
      "corpus: \(count) inputs of \(Self.corpus.count) files, slowest \(slowest / 1_000) µs, \(grown) MiB more, seed \(seed)"
    )
    #expect(grown < 256)
  }

  /// In a process of its own, so that its peak is that of the parsers alone: a batch that would take much more than the
  /// same thing before it shows, however short that was.
  @Test(.enabled(if: Long.isWanted), .timeLimit(.minutes(10)))
  func `no changed file takes a multiple of its size`() async {
    await #expect(processExitsWith: .success) {
      var random = SplitMix(0x0905_7A6E)
      func run(_ count: Int) {
        for _ in 0..<count {
          let (original, parser) = Self.corpus.randomElement(using: &random)!
          parser(Self.changed(original, &random))
        }
      }
      run(2_000)
      // The largest input has 16 KiB; what a parser makes of it, words and places, takes some dozen times as much.
      let largest = (16 << 10) * 64
      for batch in 0..<100 {
        Measure.forgetPeak()
        let before = Measure.peakBytes
        run(500)
        let more = Measure.peakBytes - before
        try #require(more < largest, "batch \(batch): \(more) bytes")
      }
    }
  }

  private static func time(_ body: () -> Void) -> Int64 {
    let start = Clock.processNanoseconds
    body()
    return Clock.processNanoseconds - start
  }
}
