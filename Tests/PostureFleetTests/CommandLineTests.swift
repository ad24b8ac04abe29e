import Glibc
import Posture
import PosturePlatform
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

/// What is typed: nothing of it is ignored, and what is wrong with it is said plainly.
@Suite struct CommandLineTests {
  private static func run(_ program: String, _ words: [String]) throws -> (status: Int32, out: String, err: String) {
    var command = Command(Path.join(Repository.products, program), words)
    command.timeout = 30_000
    let output = try command.run()
    return (output.status, String(decoding: output.out, as: UTF8.self), String(decoding: output.err, as: UTF8.self))
  }

  /// One line of a usage: the words that it cannot do without, and the options that it may have.
  private struct Form {
    let words: [String]
    let options: Set<String>

    init(_ text: String) {
      options = Set(text.split { !($0.isLetter || $0 == "-") }.map(String.init).filter { $0.hasPrefix("--") })
      // Without what stands in brackets, and of alternatives the first.
      let needed = text.split(separator: "[").enumerated().map {
        $0 == 0 ? $1 : $1.split(separator: "]").dropFirst().first ?? ""
      }
      let words = needed.joined(separator: " ").split(separator: " ").prefix { $0 != "|" }
      self.words = words.map { $0.split(separator: "|")[0].replacing("...", with: "") }.filter { !$0.isEmpty }
        .map { $0.allSatisfy(\.isUppercase) ? "x" : String($0) }
    }
  }

  private static func forms(_ program: String, in help: String) -> [Form] {
    let usage = " \(help)".split(separator: "usage: ")[1].split(separator: "\n\n")[0].replacing("\n", with: " ")
      .replacing(",", with: " ")
    return usage.split(separator: "\(program) ").map { Form(String($0)) }
  }

  private static func forms(of program: String) throws -> [Form] {
    let help = try run(program, ["--help"]).out
    if program == "posture-agent" { return forms(program, in: help).filter { !$0.words[0].hasPrefix("-") } }
    let verbs = help.split(separator: "\n").filter { $0.hasPrefix("  ") }.map { $0.split(separator: " ")[0] }
    return try verbs.flatMap { forms(program, in: try run(program, [String($0), "--help"]).out) }
  }

  @Test(arguments: ["posturectl", "posture-agent"])
  func `an option that a verb does not name is refused, never ignored`(_ program: String) throws {
    let forms = try Self.forms(of: program)
    #expect(forms.count >= (program == "posturectl" ? 24 : 8))
    let all = forms.reduce(into: Set<String>()) { $0.formUnion($1.options) }
    #expect(all.count >= (program == "posturectl" ? 40 : 15))
    let refusals = ["unknown, or of no use here", "exclude each other", "unexpected word"]
    try TemporaryFolder.with { folder in
      for form in forms {
        // Where the folder has to be named, it is.
        let home = form.options.contains("--home") ? ["--home", "\(folder)/none"] : []
        // With what makes another form of it, it is that one.
        let others = forms.filter { Set($0.words).isStrictSuperset(of: form.words) }.flatMap(\.words)
        for option in all.subtracting(form.options).subtracting(others).sorted() {
          let (status, out, err) = try Self.run(program, form.words + home + [option])
          let isRefused = refusals.contains { err.contains($0) }
          #expect(status == 64 && out.isEmpty && isRefused, "\(form.words) \(option): \(status) \(err)")
        }
      }
    }
  }

  @Test func `an option without a value, or with an empty one, is refused`() throws {
    for words in [["--tokens="], ["--tokens", ""], ["--tokens"]] {
      let (status, _, err) = try Self.run("posturectl", ["recheck", "--all", "--wait", "--home", "/none"] + words)
      #expect(status == 64 && err.contains("--tokens needs a value"), "\(words): \(err)")
    }
  }

  @Test func `no escape code of a file reaches the terminal`() throws {
    try TemporaryFolder.with { folder in
      let file = "\(folder)/policy.json"
      let hostile = #"{"name": "x", "checks": {"\u001b]0;gone\u0007": "require"}}"#
      try AtomicFile.write(Array(hostile.utf8), to: file)
      let site = try Home.built("\(folder)/home")
      for (program, words, status) in [
        ("posturectl", ["policy", "set", file, "--no-publish", "--home", site.folder], 70 as Int32),
        ("posture-agent", ["check", "--policy", file], 64), ("posturectl", ["\u{1B}[31m"], 64),
      ] {
        let output = try Self.run(program, words)
        #expect(output.status == status)
        #expect(!output.err.unicodeScalars.contains("\u{1B}") && output.err.contains("\u{FFFD}"), "\(words)")
        #expect(words.count == 1 || output.err.contains(file))
      }
    }
  }

  @Test func `requests of a folder are taken although one of them is bad, which is named`() throws {
    try TemporaryFolder.with { folder in
      let home = try Home.built("\(folder)/home")
      let requests = "\(folder)/requests"
      try Home.makeFolder(requests)
      for name in ["edge-1", "edge-3", "controller"] {
        let request = try EnrolmentRequest.make(
          name: Name(name), key: FileKey.generate(), tlsKey: FileKey.generate(), at: Clock.wall)
        try Home.write(request + "\n", to: "\(requests)/\(name).request")
      }
      try Home.write("no request\n", to: "\(requests)/edge-2.request")
      let output = try Self.run("posturectl", ["enroll", requests, "--home", home.folder])
      #expect(output.status == 70)
      let told = output.err.split(separator: "\n")
      #expect(told.count == 2, "\(told)")
      #expect(told.allSatisfy { $0.hasPrefix("posturectl: \(requests)/") })
      #expect(
        told.contains { $0.contains("/edge-2.request: ") } && told.contains { $0.contains("/controller.request: ") })
      #expect(
        Home.names(in: requests).filter { $0.hasSuffix(".bundle") } == [
          "edge-1.request.bundle", "edge-3.request.bundle",
        ])
      #expect(try DeviceRecord.all(in: home).map(\.name.description) == ["edge-1", "edge-3"])
    }
  }

  @Test func `answers that could not be kept are not asked for`() throws {
    try TemporaryFolder.with { folder in
      let home = try Home.built("\(folder)/home")
      let file = "\(folder)/file"
      try Home.write("", to: file)
      // Nobody listens: whoever asked would say that there is no broker.
      var targets = [file, "\(folder)/no/folder"]
      let disk = SmallDisk.isPossible ? try SmallDisk() : nil
      if let disk {
        try disk.set(readOnly: true)
        targets.append(disk.path)
      }
      defer { withExtendedLifetime(disk) {} }
      for target in targets {
        let words = ["recheck", "--all", "--wait", "--tokens", target, "--home", home.folder]
        let output = try Self.run("posturectl", words)
        #expect(output.status == 70 && output.err.contains(target), "\(output.err)")
      }
    }
  }

  @Test func `a revocation says what it takes back, and takes nothing that nobody has`() throws {
    try TemporaryFolder.with { folder in
      let home = try Home.built("\(folder)/home")
      func revoke(_ words: String...) throws -> (status: Int32, out: String, err: String) {
        try Self.run("posturectl", ["trust", "revoke", "--no-publish", "--home", home.folder] + words)
      }
      let stranger = try FileKey.generate().publicKey.kid
      let monitor = try Identity(.monitor, in: home).key.publicKey.kid
      for kid in [stranger, monitor, "monitor"] {
        let output = try revoke(kid)
        #expect(output.status == 70 && output.out.isEmpty && output.err.contains("\(kid): no device"), "\(output)")
      }
      #expect(try IssuerDesk(home).state.version == 1)
      let controller = try Identity(.controller, in: home).key.publicKey.kid
      #expect(try revoke(controller).out == "revoked: controller, key \(controller)\n")
      #expect(try revoke(stranger, "--issuer").out == "revoked: issuer, key \(stranger)\n")
      #expect(try revoke("no-kid", "--issuer").status == 70)
      #expect(try IssuerDesk(home).state.revokedAuthorities == [controller, stranger])
    }
  }
}
