import Glibc
import Posture
import PostureFleet
import PosturePlatform
import TestKit
import Testing

/// What the command line says of itself, in its help, its manual and its completion.
@Suite struct DocumentsTests {
  private func posturectl(_ arguments: String...) throws -> String {
    var command = Command(Path.join(Repository.products, "posturectl"), arguments)
    command.timeout = 30_000
    let output = try command.run()
    #expect(output.status == 0, "\(arguments)")
    return String(decoding: output.out, as: UTF8.self)
  }

  /// As `posturectl --help` lists them.
  private func verbs() throws -> [(name: String, summary: String)] {
    try posturectl("--help").split(separator: "\n").compactMap { line in
      guard line.hasPrefix("  "), let end = line.dropFirst(2).firstIndex(of: " ") else { return nil }
      return (String(line.dropFirst(2)[..<end]), String(line[end...].drop { $0 == " " }))
    }
  }

  @Test func `the manual has every verb and no other, in the words of the help`() throws {
    let manual = String(decoding: try AtomicFile.readAny(Repository.path("deploy/man/posturectl.1")), as: UTF8.self)
    let lines = manual.split(separator: "\n").map(String.init)
    let start = try #require(lines.firstIndex(of: ".SH VERBS"))
    let end = try #require(lines[(start + 1)...].firstIndex { $0.hasPrefix(".SH ") })
    let section = Array(lines[start..<end])
    let told = section.indices.filter { section[$0] == ".TP" }.map { at in
      (name: String(section[at + 1].dropFirst(3)), summary: section[at + 2])
    }
    let verbs = try verbs()
    #expect(verbs.count >= 14)
    #expect(told.map(\.name) == verbs.map(\.name))
    for (verb, text) in zip(verbs, told) { #expect(text.summary == verb.summary, "\(verb.name)") }
  }

  @Test func `completion offers every verb, and every option of each`() throws {
    let script = """
      . "$1"
      COMP_WORDS=(posturectl ""); COMP_CWORD=1; _posturectl; echo "${COMPREPLY[*]}"
      for verb in "${COMPREPLY[@]}"; do
        case $verb in -*) continue ;; esac
        COMP_WORDS=(posturectl "$verb" --); COMP_CWORD=2; _posturectl; echo "$verb ${COMPREPLY[*]}"
      done
      """
    var command = Command("/bin/bash", ["-c", script, "bash", Repository.path("deploy/completion/posturectl")])
    command.environment = ["PATH=\(Repository.products):/usr/bin:/bin", "HOME=/"]
    command.timeout = 60_000
    let output = try command.run()
    let lines = String(decoding: output.out, as: UTF8.self).split(separator: "\n").map { $0.split(separator: " ") }
    let names = try verbs().map(\.name)
    #expect(Set(try #require(lines.first).map(String.init)) == Set(names + ["--help", "--version"]))
    #expect(lines.dropFirst().map { String($0[0]) } == lines[0].map(String.init).filter { !$0.hasPrefix("-") })
    for line in lines.dropFirst() {
      let usage = try posturectl(String(line[0]), "--help")
      for option in Self.options(in: usage) { #expect(line.contains(option[...]), "\(line[0]) \(option)") }
    }
  }

  @Test func `the agent's completion and manual have each of its verbs and options, and no other`() throws {
    let help = try Command(Path.join(Repository.products, "posture-agent"), ["--help"]).run().out
    let usage = String(decoding: help, as: UTF8.self).split(separator: "\n\n")[1]
    var verbs: [String: Set<String>] = [:]
    for form in "\(usage)".split(separator: "posture-agent ").dropFirst() {
      let verb = form.prefix { $0.isLetter }
      if !verb.isEmpty { verbs[String(verb), default: []].formUnion(Self.options(in: String(form))) }
    }
    #expect(verbs.count == 5)
    let script = """
      . "$1"; shift
      COMP_WORDS=(posture-agent ""); COMP_CWORD=1; _posture_agent; echo "${COMPREPLY[*]}"
      for verb; do COMP_WORDS=(posture-agent "$verb" --); COMP_CWORD=2; _posture_agent; echo "$verb ${COMPREPLY[*]}"; done
      """
    let output = try Command(
      "/bin/bash", ["-c", script, "bash", Repository.path("deploy/completion/posture-agent")] + verbs.keys.sorted()
    ).run()
    let lines = String(decoding: output.out, as: UTF8.self).split(separator: "\n")
      .map { $0.split(separator: " ").map(String.init) }
    #expect(Set(try #require(lines.first)) == Set(verbs.keys).union(["--help", "--version"]))
    for line in lines.dropFirst() { #expect(Set(line.dropFirst()) == verbs[line[0]], "\(line[0])") }
    let manual = String(decoding: try AtomicFile.readAny(Repository.path("deploy/man/posture-agent.8")), as: UTF8.self)
    let told = Self.options(in: manual.replacing("\\-", with: "-"))
    #expect(told.isSuperset(of: verbs.values.reduce([]) { $0.union($1) }))
  }

  private static func options(in text: String) -> Set<String> {
    let words = text.split { !($0.isLetter || $0.isNumber || $0 == "-") }
    return Set(words.filter { $0.hasPrefix("--") && $0.count > 2 }.map(String.init))
  }

  @Test func `every code is explained`() throws {
    let codes = try posturectl("explain", "--list").split(separator: "\n").map(String.init)
    #expect(Set(codes).isSuperset(of: FindingCatalogue.all.map(\.code)))
    #expect(Set(codes).isSuperset(of: Condition.allCases.map(\.rawValue)))
    #expect(Set(codes).isSuperset(of: Breach.allCases.map(\.rawValue)))
    #expect(Set(codes).isSuperset(of: RefusalCode.allCases.map(\.rawValue)))
    #expect(Set(codes).count == codes.count)
    for code in codes {
      let explanation = try #require(Explanation(code), "\(code)")
      #expect(explanation.meaning.hasSuffix(".") && !explanation.advice.isEmpty, "\(code)")
    }
    var command = Command(Path.join(Repository.products, "posturectl"), ["explain"] + codes + ["--json"])
    command.timeout = 30_000
    let lines = String(decoding: try command.run().out, as: UTF8.self).split(separator: "\n")
    #expect(try lines.map { try JSONParser.parse(String($0))["code"]?.string } == codes)
  }

  @Test func `every state that is no pass has an alert`() throws {
    let rules = String(
      decoding: try AtomicFile.readAny(Repository.path("deploy/monitoring/posture.rules.yml")), as: UTF8.self)
    let words = Set(rules.split { !($0.isLetter || $0.isNumber) }.map(String.init))
    // The end of trust has a rule of its own: it would fire for every device.
    for standing in DeviceStatus.Standing.all where standing != .verdict(.pass) && standing != .condition(.trustStale) {
      #expect(words.contains(standing.text), "\(standing.text)")
    }
    #expect(words.contains("PostureTrustEnded"))
  }
}
