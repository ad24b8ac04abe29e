import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureProbes

/// Trees of real packages, set up by their own scripts: what is found in them, and the programs in them as judges.
@Suite(.serialized, .enabled(if: RealSystems.canBuild, "long tier, root, debootstrap"))
struct RealSystemsTests {
  @Test(arguments: ["minimal", "server", "gnome", "gnome-keys", "lightdm", "sddm", "autologin"])
  func `a tree of packages is what was written down by hand`(name: String) throws {
    let tree = try RealSystems.tree(name)
    let evidence = try RealSystems.evidence(of: tree)
    for fault in Expectations(RealSystems.file("\(name).json")).faults(of: evidence) {
      Issue.record("\(name): \(fault)")
    }
  }

  @Test(arguments: ["server", "gnome-keys", "lightdm", "sddm"])
  func `no file is read twice`(name: String) throws {
    let system = try System(root: try RealSystems.tree(name))
    _ = AuthPolicyProbe().run(on: system)
    _ = KeyringProbe().run(on: system)
    print("\(name): \(system.opens) files opened")
    #expect(system.readAgain.isEmpty, "\(system.readAgain)")
  }

  @Test func `lightdm with an automatic login`() throws {
    let tree = try RealSystems.tree("lightdm")
    try RealSystems.with("[Seat:*]\nautologin-user=alice\n", in: "\(tree)/etc/lightdm/lightdm.conf.d/50-kiosk.conf") {
      let evidence = try RealSystems.evidence(of: tree)
      let door = try #require(evidence.doors.first { $0.name == "graphical@lightdm" && $0.subject == "alice" })
      #expect(door.answer == .notRequired)
      #expect(evidence[.ownerAuthentication]?.result == .fail)
      #expect(evidence.findings.map(\.code).contains("autologin"))
    }
  }

  /// nora has an empty password, luke is locked, eve's account has expired, root has alice's password.
  private static func people(_ hash: String) -> (passwd: String, shadow: String) {
    let names = ["nora", "luke", "eve"]
    let passwd = names.enumerated().map { "\($1):x:\(2001 + $0):\(2001 + $0)::/tmp:/bin/sh\n" }.joined()
    return (
      passwd,
      "nora::19700:0:99999:7:::\nluke:!\(hash):19700:0:99999:7:::\neve:\(hash):19700:0:99999:7::1:\n"
    )
  }

  @Test(arguments: ["server", "gnome", "lightdm", "sddm", "autologin"])
  func `pamtester, su and sudo agree`(name: String) throws {
    let tree = try RealSystems.tree(name)
    let shadow = String(decoding: try AtomicFile.readAny("\(tree)/etc/shadow"), as: UTF8.self)
    let passwd = String(decoding: try AtomicFile.readAny("\(tree)/etc/passwd"), as: UTF8.self)
    let row = try #require(shadow.split(separator: "\n").first { $0.hasPrefix("alice:") })
    let hash = String(row.split(separator: ":")[1])
    let more = Self.people(hash)
    let rows = shadow.split(separator: "\n").map {
      $0.hasPrefix("root:") ? "root:\(hash):19700:0:99999:7:::" : String($0)
    }
    try RealSystems.with(passwd + more.passwd, in: "\(tree)/etc/passwd") {
      try RealSystems.with(rows.joined(separator: "\n") + "\n" + more.shadow, in: "\(tree)/etc/shadow") {
        try judge(tree)
      }
    }
  }

  private static let answers = ["", "wrong", "right password"]

  private func judge(_ tree: String) throws {
    let services = ["login", "su", "sudo"]
    let facts = AuthPolicyProbe(services: services).run(on: try System(root: tree))
    func opening(_ door: String, _ subject: String) throws -> Opening {
      try #require(facts.doors.first { $0.name == door && $0.subject == subject }?.opening, "\(door) \(subject)")
    }
    // The real programs are run as alice, who is in the group of sudo where its rules give her everything.
    let mayAll = try opening("sudo", "alice") != .never
    let identity = ["--userspec=1000:1000", "--groups=\(mayAll ? "27" : "1000")"]
    var trials: [RealSystems.Trial] = []
    var wanted: [Bool] = []
    for answer in Self.answers {
      for service in services {
        for user in ["alice", "nora", "luke", "eve", "root"] {
          trials.append(.init(["/usr/bin/pamtester", service, user, "authenticate", "acct_mgmt"], answer))
          wanted.append(Self.opens(try opening("pam@\(service)", user), answer))
        }
      }
      trials.append(.init(["/usr/bin/sudo", "-S", "-k", "/bin/true"], answer, identity))
      wanted.append(Self.opens(try opening("sudo", "alice"), answer))
      trials.append(.init(["/bin/su", "root", "-c", "/bin/true"], answer, identity))
      wanted.append(Self.opens(try opening("su", "alice"), answer))
    }
    for ((trial, wanted), isIn) in zip(zip(trials, wanted), try RealSystems.run(trials, in: tree)) {
      #expect(isIn == wanted, "\(tree): \(trial.words.joined(separator: " ")) with '\(trial.answer)'")
    }
  }

  private static func opens(_ opening: Opening, _ answer: String) -> Bool {
    let shown = answer == "right password" ? FactorSet(.passcode) : .none
    return opening.sets.contains { $0.isSubset(of: shown) }
  }

  // MARK: Booted

  private func faults(_ name: String, _ evidence: JSON) {
    for fault in Expectations(RealSystems.file("\(name).booted.json")).faults(ofJSON: evidence) {
      Issue.record("\(name): \(fault)")
    }
  }

  @Test func `a booted system that logs alice in on the first terminal`() throws {
    let tree = try RealSystems.tree("autologin")
    let unit = "[Service]\nExecStart=\nExecStart=-/sbin/agetty --autologin alice --noclear %I $TERM\n"
    let waits = "for i in $(seq 100); do who | grep -q '^alice *tty1' && break; sleep 0.1; done; who"
    try RealSystems.with(unit, in: "\(tree)/etc/systemd/system/getty@tty1.service.d/autologin.conf") {
      let (evidence, words) = try RealSystems.checkBooted(tree, after: waits)
      faults("autologin", evidence)
      // She is there, and nobody has typed anything.
      #expect(words.contains("alice") && words.contains("tty1"), "\(words)")
    }
    let (evidence, words) = try RealSystems.checkBooted(tree, after: "sleep 2; who")
    #expect(!words.contains("alice"), "\(words)")
    let door = evidence["doors"]?.array?.first {
      $0["door"] == .string("login@console") && $0["subject"] == .string("alice")
    }
    #expect(door?["answer"] == .string("required"))
  }

  /// fprintd of Debian is started by the first call; it finds no reader, so that no finger opens anything.
  @Test func `a booted system with fprintd and no reader`() throws {
    let (evidence, _) = try RealSystems.checkBooted(try RealSystems.tree("gnome-keys"))
    faults("gnome-keys", evidence)
    let check = evidence["checks"]?.array?.first { $0["check"] == .string("biometrics") }
    #expect(check?["reason"] == .string("biometryNotAvailable"))
  }

  /// The same with the reader that libfprint has for trials, and a print of alice's on it.
  @Test func `a booted system with fprintd and a reader`() throws {
    let plugs = """
      mkdir -p /run/systemd/system/fprintd.service.d
      printf '[Service]\\nEnvironment=FP_VIRTUAL_DEVICE=/run/reader\\n' >/run/systemd/system/fprintd.service.d/reader.conf
      systemctl daemon-reload; systemctl restart fprintd
      mkdir -p /var/lib/fprint/alice/virtual_device/0
      """
    let tree = try RealSystems.tree("gnome-keys")
    defer { _ = try? Command("/bin/rm", ["-rf", "\(tree)/var/lib/fprint/alice/virtual_device"]).run() }
    let print = "\ntouch /var/lib/fprint/alice/virtual_device/0/7"
    for (script, result) in [(plugs, "absent"), (plugs + print, "success")] {
      let (evidence, words) = try RealSystems.checkBooted(tree, after: script)
      let check = evidence["checks"]?.array?.first { $0["check"] == .string("biometrics") }
      #expect(check?["result"] == .string(result), "\(words)")
      if result == "absent" { #expect(check?["reason"] == .string("biometryNotEnrolled")) }
    }
  }
}

/// Makes the trees, and runs what is in them.
enum RealSystems {
  static let canBuild = Long.isWanted && geteuid() == 0 && access("/usr/sbin/debootstrap", X_OK) == 0

  /// Kept from one run to the next: making them takes minutes.
  private static let folder = getenv("POSTURE_SYSTEMS").map { String(cString: $0) } ?? "/var/tmp/posture-systems"

  static func file(_ name: String) -> String { Repository.path("Tests/RealSystems/\(name)") }

  struct Failure: Error { var words: String }

  static func tree(_ name: String) throws -> String {
    var command = Command(file("build"), [name, folder])
    command.timeout = 900_000
    let output = try command.run()
    guard output.status == 0 else { throw Failure(words: String(decoding: output.err, as: UTF8.self)) }
    return "\(folder)/\(name)"
  }

  static func evidence(of tree: String) throws -> Evidence {
    let system = try System(root: tree)
    var facts = AuthPolicyProbe().run(on: system)
    facts.add(KeyringProbe().run(on: system))
    return Judge.evidence(of: facts, under: .entry)
  }

  /// Runs `body` with this text in place of a file, which comes back as it was.
  static func with(_ text: String, in path: String, _ body: () throws -> Void) throws {
    let before = try? AtomicFile.readAny(path)
    mkdir(Path.folder(of: path), 0o755)
    try fill(path, Array(text.utf8))
    defer { if let before { try? fill(path, before) } else { unlink(path) } }
    try body()
  }

  /// In place, so that owner, group and mode stay.
  private static func fill(_ path: String, _ bytes: [UInt8]) throws {
    var command = Command("/bin/sh", ["-c", "cat >\"$0\"", path])
    command.input = bytes
    guard try command.run().status == 0 else { throw Failure(words: path) }
  }

  /// A program in the tree, run by somebody (root where nothing is said), given this line as often as it asks.
  struct Trial {
    var words: [String]
    var answer: String
    var identity: [String]

    init(_ words: [String], _ answer: String, _ identity: [String] = []) {
      self.words = words
      self.answer = answer
      self.identity = identity
    }
  }

  /// Which of them end with success. All run at the same time, for each that refuses waits for some seconds.
  static func run(_ trials: [Trial], in tree: String) throws -> [Bool] {
    let lines = trials.enumerated().map { index, trial in
      let program = (trial.identity + [tree] + trial.words).joined(separator: " ")
      return "(yes '\(trial.answer)' | head -n 3 | timeout 40 chroot \(program) >/dev/null 2>&1; echo \(index) $?) &"
    }
    var command = Command("/bin/bash", ["-c", lines.joined(separator: "\n") + "\nwait"])
    command.timeout = 120_000
    let output = String(decoding: try command.run().out, as: UTF8.self)
    let ended = Set(output.split(separator: "\n").filter { $0.hasSuffix(" 0") }.compactMap { Int($0.dropLast(2)) })
    return trials.indices.map(ended.contains)
  }

  /// What `posture-agent check` says inside the booted tree after a shell script, and what that printed.
  static func checkBooted(_ tree: String, after script: String = "") throws -> (evidence: JSON, words: String) {
    let place = "\(tree)/opt/posture"
    mkdir(place, 0o755)
    defer { _ = try? Command("/bin/rm", ["-rf", place]).run() }
    let agent = Path.join(Repository.products, "posture-agent")
    let needed = try Command("/usr/bin/ldd", [agent]).run().out
    let libraries = String(decoding: needed, as: UTF8.self).split(separator: "\n").compactMap { line in
      line.split(separator: " ").first { $0.hasPrefix("/") }.map(String.init)
    }
    _ = try Command("/bin/cp", ["-L", agent] + libraries + [place]).run()
    let whole = "{ \(script)\n:; } >&2\nLD_LIBRARY_PATH=/opt/posture exec /opt/posture/posture-agent check --json"
    var command = Command(file("boot"), [tree, "/bin/bash", "-c", whole])
    command.timeout = 120_000
    let output = try command.run()
    let words = String(decoding: output.err, as: UTF8.self)
    guard let json = try? JSONParser.parse(output.out, limits: .foreign) else {
      throw Failure(words: "\(output.status) \(words)")
    }
    return (json, words)
  }
}
