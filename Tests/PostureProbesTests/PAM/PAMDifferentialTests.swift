import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// Random stacks, judged by the real libpam: our answer has to be the same, code by code.
@Suite(.serialized, .enabled(if: PAMJudge.isHere, "needs cc, libpam's header and pam_debug.so"))
struct PAMDifferentialTests {
  @Test(.timeLimit(.minutes(3)))
  func `some thousand random stacks end as libpam ends them`() throws { try compare(stacks: 3000) }

  @Test(.timeLimit(.minutes(10)), .enabled(if: Long.isWanted, "long tier: set POSTURE_LONG"))
  func `twenty thousand random stacks end as libpam ends them, within a minute`() throws {
    let start = Self.processorTicks
    try compare(stacks: 20_000)
    let seconds = (Self.processorTicks - start) / Int(sysconf(Int32(_SC_CLK_TCK)))
    print("twenty thousand stacks: \(seconds) s of processor time")
    #expect(seconds < 60)
  }

  /// Of this process and its children: other suites run at the same time.
  private static var processorTicks: Int {
    var spent = tms()
    _ = times(&spent)
    return Int(spent.tms_utime + spent.tms_stime + spent.tms_cutime + spent.tms_cstime)
  }

  private func compare(stacks: Int) throws {
    let seed = getenv("POSTURE_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...UInt64.max)
    print("PAM differential seed \(seed) (POSTURE_SEED repeats it)")
    let workshop = try StackWorkshop(seed: seed)
    var left = stacks
    while left > 0 {
      let faults = try workshop.round(min(left, 1000))
      for fault in faults.prefix(3) {
        Issue.record("seed \(seed): \(try workshop.shrink(fault))")
      }
      guard faults.isEmpty else { return }
      left -= 1000
    }
    print("undecided: \(workshop.undecided) of \(stacks)")
    #expect(workshop.undecided * 50 < stacks)
  }
}

/// Makes stacks, asks both sides, and makes a difference small.
final class StackWorkshop {
  struct Fault {
    var files: [String: String]
    var folder: String
    var theirs: [String]
    var ours: [String]
  }

  private static let phases = ["auth", "account"]

  private let judge: PAMJudge
  private let folder: Folder
  private var makers: RandomStacks
  private let dialect: PAM.Dialect
  private let modules: PAM.ModuleFolders
  /// Stacks that we do not claim to know.
  private(set) var undecided = 0

  init(seed: UInt64) throws {
    judge = try PAMJudge()
    folder = try Folder(isInMemory: true)
    makers = RandomStacks(seed: seed, modules: try #require(PAMJudge.moduleFolder))
    let system = try System()
    let distribution = Distribution(system)
    dialect = PAM.Dialect(
      version: PAM.Version.find(system, distribution), isDebian: distribution.isDebian)
    modules = PAM.ModuleFolders(system)
  }

  func round(_ stacks: Int) throws -> [Fault] {
    let round = folder.file("round")
    mkdir(round, 0o700)
    defer { TemporaryFolder.remove(round) }
    let made = (0..<stacks).map { index in
      let place = "\(round)/\(index)"
      return (place, makers.files(in: place))
    }
    for (place, files) in made { write(files, place) }
    let questions = made.flatMap { place, _ in
      Self.phases.map { PAMJudge.Question(folder: place, service: "svc", phase: $0) }
    }
    let answers = try judge.ask(questions)
    return made.enumerated().compactMap { index, item in
      let theirs = Array(answers[index * 2...index * 2 + 1])
      guard let ours = ours(item.1, item.0) else {
        undecided += 1
        return nil
      }
      return ours == theirs ? nil : Fault(files: item.1, folder: item.0, theirs: theirs, ours: ours)
    }
  }

  private func write(_ files: [String: String], _ place: String) {
    mkdir(place, 0o700)
    for (name, text) in files {
      guard let file = fopen("\(place)/\(name)", "w") else { continue }
      let bytes = Array(text.utf8)
      fwrite(bytes, 1, bytes.count, file)
      fclose(file)
    }
  }

  // MARK: Our side

  /// nil: we say that it cannot be told.
  private func ours(_ files: [String: String], _ place: String) -> [String]? {
    let loaded = Result { () throws(PAM.StackBuilder.Abort) in
      try PAM.ServiceStacks("svc", dialect) { name, _ in
        let path = Path.join(place, name)
        let key = path.hasPrefix("\(place)/") ? String(path.dropFirst(place.utf8.count + 1)) : ""
        // A folder opens like a file that is empty.
        if key == "." || key == ".." { return .success((path, [])) }
        guard let text = files[key] else { return .failure(.init(path: path, reason: .missing)) }
        return .success((path, Array(text.utf8)))
      }
    }
    switch loaded {
    case .failure: return ["start 26", "start 26"]
    case .success(let stacks):
      guard stacks.own.doubt == nil, stacks.other.doubt == nil else { return nil }
      return [PAM.Group.auth, .account].map { ours(stacks, $0) }
    }
  }

  private func ours(_ stacks: PAM.ServiceStacks, _ group: PAM.Group) -> String {
    let entries = stacks[group]
    func code(_ index: Int) -> PAM.Code {
      let entry = entries[index]
      guard modules.has(entry.module) else { return .moduleUnknown }
      return PAM.DebugModule.code(entry.arguments, group)
    }
    let answer = PAM.Evaluator.run(entries, code: code)
    var evaluator = PAM.Evaluator(entries, goal: [answer]) { [[code($0)]] }
    let isSame = evaluator.evaluate().value == .yes
    return isSame ? "\(answer.number)" : "the two walks differ"
  }

  // MARK: Shrinking

  /// The smallest files that still differ, with both answers.
  func shrink(_ fault: Fault) throws -> String {
    var best = fault
    var isShrinking = true
    while isShrinking {
      isShrinking = false
      for files in smaller(best.files) {
        let place = folder.file("shrink")
        let moved = files.mapValues { $0.replacing(best.folder, with: place) }
        guard let fault = try difference(moved, place) else { continue }
        best = fault
        isShrinking = true
        break
      }
    }
    let text = best.files.sorted { $0.key < $1.key }.map { "--- \($0.key)\n\($0.value.debugDescription)" }
    return "libpam \(best.theirs), ours \(best.ours)\n\(text.joined(separator: "\n"))"
  }

  private func difference(_ files: [String: String], _ place: String) throws -> Fault? {
    TemporaryFolder.remove(place)
    write(files, place)
    let theirs = try judge.ask(Self.phases.map { PAMJudge.Question(folder: place, service: "svc", phase: $0) })
    guard let ours = ours(files, place) else { return nil }
    return ours == theirs ? nil : Fault(files: files, folder: place, theirs: theirs, ours: ours)
  }

  /// Each file, each line, each word left out.
  private func smaller(_ files: [String: String]) -> [[String: String]] {
    var result: [[String: String]] = []
    for (name, text) in files.sorted(by: { $0.key < $1.key }) {
      result.append(files.filter { $0.key != name })
      for separator in ["\n", " "] as [Character] {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.count > 1 else { continue }
        for index in parts.indices {
          var fewer = parts
          fewer.remove(at: index)
          var changed = files
          changed[name] = fewer.joined(separator: String(separator))
          result.append(changed)
        }
      }
    }
    return result
  }
}
