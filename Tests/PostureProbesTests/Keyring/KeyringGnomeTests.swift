import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// Files of gnome-keyring: what they are, which one is the default, and what damage does.
struct KeyringGnomeTests {
  private static let folder = "/home/alice/.local/share/keyrings"
  static let plain = "[keyring]\ndisplay-name=Default\nctime=0\nmtime=0\nlock-on-idle=false\nlock-after=false\n"

  /// What gnome-keyring 42.1 wrote for one item under a password.
  static let encrypted: [UInt8] = {
    var bytes = Array("GnomeKeyring\n\r\0\n".utf8) + [0, 0, 0, 0]
    func text(_ text: String) -> [UInt8] { [0, 0, 0, UInt8(text.utf8.count)] + Array(text.utf8) }
    bytes += text("login") + Array(repeating: 0, count: 16 + 4 + 4)
    bytes += [0, 0, 5, 0x1E] + Array(1...8) + Array(repeating: 0, count: 16)
    // One item: identifier, type, one attribute as a hash of text and one as a hash of a number.
    bytes += [0, 0, 0, 1] + [0, 0, 0, 1, 0, 0, 0, 0] + [0, 0, 0, 2]
    bytes += text("server") + [0, 0, 0, 0] + text("0123456789abcdef0123456789abcdef")
    bytes += text("port") + [0, 0, 0, 1] + [1, 2, 3, 4]
    bytes += [0, 0, 0, 32] + Array(repeating: 0xA5, count: 32)
    return bytes
  }()

  private func tree(_ files: [String: [UInt8]]) throws -> FixtureTree {
    let tree = try FixtureTree()
    try tree.addAlice()
    for (name, bytes) in files { try tree.write("\(Self.folder)/\(name)", bytes) }
    return tree
  }

  @Test func `the alias decides which collection new secrets go to`() throws {
    let files = ["login.keyring": Self.encrypted, "Other_one.keyring": Array(Self.plain.utf8)]
    let aliases: [String?: String] = [
      nil: "login", "": "login", "\n": "login", " Other_one \n": "Other_one", "login": "login",
    ]
    for (alias, chosen) in aliases {
      let tree = try tree(files)
      if let alias { try tree.write("\(Self.folder)/default", alias) }
      let doors = try tree.doors().filter { $0.name.hasPrefix("secrets@") }
      #expect(doors.map(\.name).sorted() == ["secrets@gnome-keyring:Other_one", "secrets@gnome-keyring:login"])
      #expect(doors.filter(\.isDefault).map(\.name) == ["secrets@gnome-keyring:\(chosen)"])
      #expect(doors.first { $0.name.hasSuffix("login") }?.opening == .passcode)
      #expect(doors.first { $0.name.hasSuffix("one") }?.opening == .always)
      #expect(doors.first { $0.name.hasSuffix("one") }?.cause?.code == "keyringWithoutPassword")
      #expect(doors.allSatisfy { $0.subject == "alice" && $0.proof == Door.Proof(.header, .ok) })
    }
  }

  @Test func `an alias without a file makes no default`() throws {
    let tree = try tree(["login.keyring": Self.encrypted, "default": Array("gone\n".utf8)])
    #expect(try tree.doors().filter(\.isDefault).isEmpty)
  }

  @Test func `the old folder counts only where the present one is missing`() throws {
    let old = try FixtureTree()
    try old.addAlice()
    try old.write("/home/alice/.gnome2/keyrings/login.keyring", Self.plain)
    #expect(try old.door("secrets@gnome-keyring:login")?.opening == .always)
    try old.write("\(Self.folder)/login.keyring", Self.encrypted)
    #expect(try old.door("secrets@gnome-keyring:login")?.opening == .passcode)
  }

  @Test func `a file cut at any byte is never taken for a sound one`() {
    let whole = Self.encrypted
    #expect(GnomeKeyring(whole) == .encrypted)
    for length in 0..<whole.count {
      guard case .damaged = GnomeKeyring(Array(whole.prefix(length))) else {
        Issue.record("\(length) bytes: \(GnomeKeyring(Array(whole.prefix(length))))")
        continue
      }
    }
    for length in 0..<9 { #expect(GnomeKeyring(Array(Self.plain.utf8.prefix(length))) != .plaintext) }
  }

  @Test func `sizes that the file does not have are damage`() {
    for offset in 16..<Self.encrypted.count - 4 {
      var bytes = Self.encrypted
      bytes.replaceSubrange(offset..<offset + 4, with: [0x7F, 0xFF, 0xFF, 0xFF])
      _ = GnomeKeyring(bytes)
    }
    var items = Self.encrypted
    items.replaceSubrange(81..<85, with: [0xFF, 0xFF, 0xFF, 0xFF])
    #expect(GnomeKeyring(items) == .damaged("truncated"))
  }

  @Test func `neither format is unknown, with the reason`() throws {
    let strange = ["[other]\n", "# only a comment\n", "\u{FEFF}[keyring]\n", "[keyring]x\n", "secret=1\n[keyring]\n"]
    for text in strange {
      let tree = try tree(["login.keyring": Array(text.utf8)])
      let door = try #require(try tree.door("secrets@gnome-keyring:login"))
      #expect(door.answer == .unknown && door.cause?.code == "unreadable", "\(text)")
    }
    for sound in ["\n # c\n[keyring]\r\n", "[keyring] \t\n", "  [keyring]"] {
      #expect(GnomeKeyring(Array(sound.utf8)) == .plaintext, "\(sound)")
    }
  }

  @Test(.timeLimit(.minutes(1))) func `a farm of pipes neither blocks nor passes`() throws {
    let tree = try tree([:])
    for number in 0..<400 { tree.makeFIFO("\(Self.folder)/\(number).keyring") }
    tree.makeFIFO("\(Self.folder)/login.keyring")
    tree.makeFIFO("\(Self.folder)/default")
    tree.makeFIFO("/home/alice/.ssh/id_rsa")
    for number in 0..<600 { tree.makeFIFO("/home/alice/.ssh/key\(number)") }
    tree.makeFIFO("/home/alice/.local/share/kwalletd/kdewallet.kwl")
    tree.makeFIFO("/home/alice/.config/kwalletrc")
    tree.makeFIFO("/etc/crypttab")
    tree.makeFIFO("/var/lib/systemd/home/bob.identity")
    let result = try tree.examine()
    let doors = result.doors.filter { $0.name.hasPrefix("secrets@") || $0.name.hasPrefix("ssh-key:") }
    #expect(!doors.isEmpty && doors.allSatisfy { $0.answer == .unknown })
    #expect(doors.contains { $0.name == "ssh-key:alice:.ssh/id_rsa" })
    #expect(result.gaps.filter { $0.checks.contains(.keyring) }.count == 2)
    let evidence = Judge.evidence(of: result, under: .entry)
    #expect(evidence.checks.first { $0.name == .keyring }?.result == .notRun)
  }

  @Test func `no mutation of a keyring crashes the reader`() {
    var generator = SplitMix(freshSeed("keyring mutations"))
    let seeds = [Self.encrypted, Array(Self.plain.utf8)]
    var sound = 0
    for round in 0..<20_000 {
      let bytes = generator.mutated(seeds[round % 2])
      if case .damaged = GnomeKeyring(bytes) { continue }
      sound += 1
    }
    print("still a keyring after mutation: \(sound) of 20000")
  }
}
