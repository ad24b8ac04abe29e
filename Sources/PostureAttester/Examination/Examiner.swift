import Glibc
import PosturePlatform

/// Starts examinations and collects what they say, without ever waiting: the service polls ``descriptor`` until
/// ``deadline``.
final class Examiner {
  /// How the examining process is started: the probes' names are added.
  struct Program: Sendable {
    var path: String
    var arguments: [String]
    var environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]
    /// Milliseconds for one probe.
    var timeout: Int64 = 20_000

    /// This very binary.
    static func own(root: String) -> Program {
      Program(path: "/proc/self/exe", arguments: ["attest", "--examine", "--root", root])
    }
  }

  private let program: Program
  private var run: Run?
  /// A process that has said all that it had to say, and is ending.
  private var leaving: pid_t?

  /// One process, and what is left to be said.
  private final class Run {
    let pid: pid_t
    let output: Descriptor
    /// The beginning of a line whose end has not come.
    var line: [UInt8] = []
    var probes: ArraySlice<ProbeName>
    var examination: Examination
    let startedAt: Int64
    var deadline: Int64

    init(
      pid: pid_t, output: consuming Descriptor, probes: ArraySlice<ProbeName>, examination: Examination,
      startedAt: Int64, deadline: Int64
    ) {
      self.pid = pid
      self.output = output
      self.probes = probes
      self.examination = examination
      self.startedAt = startedAt
      self.deadline = deadline
    }
  }

  init(_ program: Program) { self.program = program }

  deinit {
    stop()
    reap()
  }

  /// Ends what runs, without a word of what it saw.
  func stop() {
    guard let pid = run?.pid else { return }
    run = nil
    Self.clear(pid)
  }

  /// Waits for the end of the process whose words are already known: it takes some milliseconds.
  func reap() {
    guard let pid = leaving else { return }
    leaving = nil
    Self.clear(pid)
  }

  private static func clear(_ pid: pid_t) {
    kill(-pid, SIGKILL)
    waitpid(pid, nil, 0)
  }

  var isRunning: Bool { run != nil }
  /// -1 where nothing runs: poll(2) passes over it.
  var descriptor: Int32 { run?.output.number ?? -1 }
  /// Of CLOCK_BOOTTIME, in milliseconds.
  var deadline: Int64? { run?.deadline }

  /// Begins; a process that cannot be started gives an examination in which nothing was seen.
  func start() -> Examination? {
    launch(ProbeName.allCases[...], Examination(began: Clock.fileNanoseconds), startedAt: Clock.boottimeMilliseconds)
  }

  private func launch(
    _ probes: ArraySlice<ProbeName>, _ examination: Examination, startedAt: Int64
  ) -> Examination? {
    guard !probes.isEmpty else { return finished(examination, startedAt) }
    do throws(SystemError) {
      let pipe = try Pipe()
      let arguments = program.arguments + probes.flatMap { ["--probe", $0.rawValue] }
      // What it says on standard error is nobody's business: a crash report could hold anything.
      let pid = try Command.spawn(
        program.path, arguments, program.environment, in: -1, out: pipe.writer.number, err: -1)
      _ = fcntl(pipe.reader.number, F_SETFL, O_NONBLOCK)
      run = Run(
        pid: pid, output: pipe.takeReader(), probes: probes, examination: examination, startedAt: startedAt,
        deadline: Clock.boottimeMilliseconds + program.timeout)
      return nil
    } catch {
      var examination = examination
      for name in probes { examination.failures[name] = "could not be started" }
      return finished(examination, startedAt)
    }
  }

  private func finished(_ examination: Examination, _ startedAt: Int64) -> Examination {
    var examination = examination
    examination.took = Clock.boottimeMilliseconds - startedAt
    return examination
  }

  /// Reads what has come; the examination once it is complete.
  func collect() -> Examination? {
    guard let run else { return nil }
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(run.output.number, &chunk, chunk.count)
      if count < 0 { return errno == EAGAIN || errno == EINTR ? nil : end("its output broke off") }
      if count == 0 { return end(nil) }
      if let complaint = take(chunk[..<count], run) { return end(complaint) }
      if run.probes.isEmpty { return leave(run) }
    }
  }

  /// Ends a probe that has had its time.
  func expire() -> Examination? {
    guard let deadline, Clock.boottimeMilliseconds >= deadline else { return nil }
    return end("did not end within \(program.timeout / 1000) s")
  }

  /// Cuts what has come into lines; what is wrong with them, if anything is.
  private func take(_ bytes: ArraySlice<UInt8>, _ run: Run) -> String? {
    var rest = bytes
    while let newline = rest.firstIndex(of: 0x0A) {
      run.line += rest[..<newline]
      rest = rest[(newline + 1)...]
      guard let part = try? ExaminationPart(line: run.line), part.name == run.probes.first else {
        return "said what makes no sense"
      }
      run.line = []
      take(part, run)
    }
    run.line += rest
    return run.line.count > ExaminationPart.cap ? "said too much" : nil
  }

  private func take(_ part: ExaminationPart, _ run: Run) {
    run.probes.removeFirst()
    run.examination.parts[part.name] = part.facts
    run.examination.visited.formUnion(part.visited)
    run.examination.listed.formUnion(part.listed)
    run.deadline = Clock.boottimeMilliseconds + program.timeout
  }

  /// Nothing more is to come: nobody waits until the kernel has cleared the process away.
  private func leave(_ run: Run) -> Examination {
    self.run = nil
    reap()
    leaving = run.pid
    return finished(run.examination, run.startedAt)
  }

  /// The process is done or done for. The probe it was at has failed; those after it get a process of their own.
  private func end(_ complaint: String?) -> Examination? {
    guard let run else { return nil }
    self.run = nil
    kill(-run.pid, SIGKILL)
    let status = (try? Command.wait(run.pid)) ?? 0
    var examination = run.examination
    guard let culprit = run.probes.first else { return finished(examination, run.startedAt) }
    examination.failures[culprit] = complaint ?? Self.words(status)
    return launch(run.probes.dropFirst(), examination, startedAt: run.startedAt)
  }

  private static func words(_ status: Int32) -> String {
    status > 128 ? "ended by signal \(status - 128)" : "ended with status \(status) before its end"
  }
}
