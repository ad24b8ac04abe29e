import Glibc
import PosturePlatform
import TestKit

/// The libpam of this machine, asked through a small C program.
struct PAMJudge {
  struct Question {
    /// Folder of the stacks; "-": those of the system.
    var folder: String
    var service: String
    var user = "root"
    /// `auth`, `account`, `both`.
    var phase: String
    /// What a prompt is answered with.
    var answer = ""
    var flags = 0

    fileprivate var line: String { "\(folder) \(service) \(user) \(phase) \(answer.isEmpty ? "-" : answer) \(flags)\n" }
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private let program: String
  private let folder: Folder

  /// The folder of this machine's modules; nil where libpam or its test module is missing.
  static let moduleFolder: String? = {
    let places = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib"]
    return places.map { "\($0)/security" }.first { access("\($0)/pam_debug.so", R_OK) == 0 }
  }()

  /// A compiler, libpam's header and its test module are here.
  static let isHere =
    CCompiler.path != nil && access("/usr/include/security/pam_appl.h", R_OK) == 0 && moduleFolder != nil

  /// Whether a private mount namespace can be had.
  static let hasNamespaces: Bool = {
    guard geteuid() == 0 else { return false }
    return (try? Command("/usr/bin/unshare", ["-m", "/bin/true"]).run())?.status == 0
  }()

  /// Modules that the judge keeps loaded from one question to the next.
  private static let kept =
    moduleFolder.map { folder in ["debug", "deny", "permit"].map { "\(folder)/pam_\($0).so" } } ?? []

  init() throws {
    folder = try Folder()
    program = folder.file("pam_judge")
    try CCompiler.build("pam_judge.c", to: program, ["-lpam"])
  }

  /// The answers, one for each question. `mounts`: files and folders put over others in a namespace of its own.
  func ask(_ questions: [Question], mounts: [(source: String, target: String)] = []) throws -> [String] {
    var answers: [String] = []
    while answers.count < questions.count {
      let (status, some) = try run(Array(questions[answers.count...]), mounts)
      answers += some
      if [SIGSEGV, SIGABRT, SIGPROF].contains(status - 128) {
        // Such a file kills libpam, or keeps it busy for ever: nobody gets in, as if it had given up.
        answers.append("start 26")
      } else if status != 0 || answers.count < questions.count {
        throw Failure(description: "status \(status), \(answers.count) of \(questions.count)")
      }
    }
    return answers
  }

  private func run(
    _ questions: [Question], _ mounts: [(source: String, target: String)]
  ) throws -> (Int32, [String]) {
    let script = mounts.map { "mount --bind \($0.source) \($0.target) && " }.joined() + "exec \(program)"
    var command =
      mounts.isEmpty ? Command(program, Self.kept) : Command("/usr/bin/unshare", ["-m", "/bin/sh", "-c", script])
    command.input = Array(questions.map(\.line).joined().utf8)
    command.timeout = 120_000
    let output = try command.run()
    return (output.status, String(decoding: output.out, as: UTF8.self).split(separator: "\n").map(String.init))
  }
}
