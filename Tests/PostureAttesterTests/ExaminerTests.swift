import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureAttester

/// A part of the examination that goes wrong takes nothing else along.
@Suite struct ExaminerTests {
  /// Runs an examination to its end; the time it took in milliseconds.
  private func examine(_ script: String, timeout: Int64 = 1_000) -> (Examination, Int64) {
    let program = Examiner.Program(
      path: "/bin/sh", arguments: ["-c", script, "sh"], timeout: timeout)
    let examiner = Examiner(program)
    let began = Clock.boottimeMilliseconds
    var result = examiner.start()
    while result == nil {
      var polled = pollfd(fd: examiner.descriptor, events: Int16(POLLIN), revents: 0)
      let left = (examiner.deadline ?? 0) - Clock.boottimeMilliseconds
      poll(&polled, 1, Int32(max(0, left)))
      result = examiner.collect() ?? examiner.expire()
    }
    return (result!, Clock.boottimeMilliseconds - began)
  }

  /// A line of facts for a probe, for a script to print.
  private func line(_ name: ProbeName) -> String {
    let facts = Examination.of(open: false).parts[name] ?? ProbeResult()
    let part = ExaminationPart(name: name, facts: facts, visited: ["/etc/passwd"], listed: [])
    return String(decoding: part.line.dropLast(), as: UTF8.self)
  }

  private func verdict(_ examination: Examination) -> Evidence {
    Judge.evidence(of: examination.facts(), under: .entry)
  }

  @Test func `both probes speak`() {
    let (examination, _) = examine("echo '\(line(.authPolicy))'; echo '\(line(.keyring))'")
    #expect(examination.failures.isEmpty)
    #expect(examination.visited == ["/etc/passwd"])
    #expect(verdict(examination).verdict == .pass)
  }

  @Test(arguments: [
    "kill -SEGV $$", "exit 3", "exit 0", "exec /bin/cat /dev/zero", "exec yes", "echo '{}'", "echo nonsense; sleep 50",
    "printf '\\377\\376\\n'; sleep 50", "printf '{\"probe\":\"keyring\"}\\n'; sleep 50", "sleep 50",
    "trap '' TERM; sleep 50",
    "sleep 50 & sleep 50", "exec 1>&-; sleep 50",
  ])
  func `a process that goes wrong makes every check not run`(_ script: String) {
    let (examination, took) = examine(script, timeout: 700)
    #expect(Set(examination.failures.keys) == Set(ProbeName.allCases))
    let evidence = verdict(examination)
    #expect(evidence.verdict == .unknown)
    #expect(evidence.checks.allSatisfy { $0.result == .notRun })
    #expect(evidence.findings.contains { $0.code == "probeFailed" })
    #expect(took < 4_000)
  }

  @Test(arguments: ["kill -ABRT $$", "sleep 50", "exec yes", "echo nonsense"])
  func `the probe after the one that went wrong still counts`(_ trouble: String) {
    let (examination, _) = examine(
      "case \"$*\" in *auth-policy*) \(trouble);; *) echo '\(line(.keyring))';; esac", timeout: 700)
    #expect(Array(examination.failures.keys) == [.authPolicy])
    #expect(examination.parts.keys.contains(.keyring))
    let evidence = verdict(examination)
    #expect(evidence[.passcode]?.result == .notRun)
    #expect(evidence[.disk]?.result == .absent)
  }

  @Test(arguments: ["kill -ABRT $$", "sleep 50", "exec yes", "echo nonsense"])
  func `the probe before the one that went wrong still counts`(_ trouble: String) {
    let (examination, _) = examine("echo '\(line(.authPolicy))'; \(trouble)", timeout: 700)
    #expect(Array(examination.failures.keys) == [.keyring])
    let evidence = verdict(examination)
    #expect(evidence[.ownerAuthentication]?.result == .success)
    #expect(evidence[.keyring]?.result == .notRun && evidence[.deviceBinding]?.result == .notRun)
    #expect(evidence.verdict == .unknown)
  }

  @Test func `a program that is not there`() {
    let examiner = Examiner(Examiner.Program(path: "/nonexistent", arguments: []))
    #expect(examiner.start()?.failures.count == 2)
  }

  @Test func `nothing is left running and no descriptor open`() {
    let before = FolderListing.names("/proc/self/fd").count
    for script in ["sleep 50 & sleep 50", "kill -SEGV $$", "exec yes"] { _ = examine(script, timeout: 300) }
    // Other tests open and close files at the same time.
    #expect(FolderListing.names("/proc/self/fd").count <= before + 8)
  }
}
