import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// Private keys that ssh-keygen and openssl wrote.
@Suite(.serialized)
struct KeyringSSHKeyTests {
  private static let keygen = "/usr/bin/ssh-keygen"
  private static let openssl = "/usr/bin/openssl"

  @Test(.enabled(if: Tools.has(keygen)), arguments: ["rsa", "ecdsa", "ed25519"], ["RFC4716", "PEM", "PKCS8"])
  func `what ssh-keygen wrote with and without a passphrase`(type: String, format: String) throws {
    // ssh-keygen writes Ed25519 in its own format whatever it is asked.
    for passphrase in ["", "correct horse"] {
      let tree = try FixtureTree()
      try tree.addAlice()
      tree.makeFolder("/home/alice/.ssh")
      let file = "/home/alice/.ssh/id_\(type)"
      try Tools.run(
        Self.keygen, ["-q", "-t", type, "-m", format, "-N", passphrase, "-C", "", "-f", tree.place(file)])
      let keys = try tree.doors().filter { $0.name.hasPrefix("ssh-key:") }
      #expect(keys.map(\.name) == ["ssh-key:alice:.ssh/id_\(type)"])
      #expect(keys.first?.opening == (passphrase.isEmpty ? .always : .passcode))
      #expect(keys.first?.cause?.code == (passphrase.isEmpty ? "keyWithoutPassphrase" : nil))
    }
  }

  @Test(.enabled(if: Tools.has(openssl)))
  func `PEM of openssl, encrypted and not`() throws {
    let folder = try Folder()
    func key(_ arguments: String...) throws -> SSHPrivateKey? {
      try Tools.run(Self.openssl, [arguments[0], "-out", "\(folder.path)/key"] + arguments.dropFirst())
      return SSHPrivateKey(try AtomicFile.readAny("\(folder.path)/key"))
    }
    #expect(try key("genpkey", "-algorithm", "ED25519") == .open)
    #expect(try key("genpkey", "-algorithm", "ED25519", "-aes256", "-pass", "pass:x") == .passphrase)
    #expect(try key("genrsa", "-traditional", "1024") == .open)
    #expect(try key("genrsa", "-traditional", "-aes128", "-passout", "pass:abcd", "1024") == .passphrase)
    // Parameters stand before the key.
    #expect(try key("ecparam", "-genkey", "-name", "prime256v1") == .open)
  }

  /// openssh-key-v1 by PROTOCOL.key, for kinds that need hardware to make.
  private static func openSSH(type: String, cipher: String, secret: [UInt8]) -> [UInt8] {
    func string(_ bytes: [UInt8]) -> [UInt8] { [0, 0, UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes }
    let publicKey = string(Array(type.utf8)) + string([1, 2, 3]) + string(Array("ssh:".utf8))
    let body =
      Array("openssh-key-v1\0".utf8) + string(Array(cipher.utf8)) + string(Array("none".utf8)) + string([])
      + [0, 0, 0, 1] + string(publicKey) + string(secret)
    return Array(PEM.text("OPENSSH PRIVATE KEY", body).utf8)
  }

  @Test func `a handle to a security key needs that key, and its PIN where the flags say so`() {
    let type = "sk-ssh-ed25519@openssh.com"
    func string(_ text: String) -> [UInt8] { [0, 0, 0, UInt8(text.utf8.count)] + Array(text.utf8) }
    func secret(_ flags: UInt8) -> [UInt8] {
      [1, 1, 1, 1, 1, 1, 1, 1] + string(type) + string("pub") + string("ssh:") + [flags]
    }
    #expect(SSHPrivateKey(Self.openSSH(type: type, cipher: "none", secret: secret(1)))?.opening == Opening([.token]))
    #expect(
      SSHPrivateKey(Self.openSSH(type: type, cipher: "none", secret: secret(5)))?.opening
        == Opening([.passcode, .token]))
    #expect(
      SSHPrivateKey(Self.openSSH(type: type, cipher: "aes256-ctr", secret: [9]))?.opening
        == Opening([.passcode, .token]))
  }

  @Test func `keys of other programs, and what is no key`() {
    func key(_ text: String) -> SSHPrivateKey? { SSHPrivateKey(Array(text.utf8)) }
    // On Windows PuTTY ends lines in its own way.
    for end in ["\n", "\r\n", "\r"] {
      #expect(key("PuTTY-User-Key-File-3: ssh-ed25519\(end)Encryption: none\(end)Comment: x\(end)") == .open)
      #expect(key("PuTTY-User-Key-File-2: ssh-rsa\(end)Encryption: aes256-cbc\(end)") == .passphrase)
    }
    #expect(key("PuTTY-User-Key-File-3: ssh-ed25519\n") == .damaged("no Encryption line"))
    #expect(key("ssh-ed25519 AAAAC3Nza alice\n") == nil)
    #expect(key("") == nil)
    #expect(key("-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n") == nil)
    #expect(
      key("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n") == .damaged("not base64"))
    #expect(key("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n") == .damaged("truncated"))
    #expect(PEM.tss(emptyAuth: true)?.opening == Opening([.device]))
    #expect(PEM.tss(emptyAuth: false)?.opening == Opening([.device, .passcode]))
  }

  @Test func `a key in disguise and a broken standard key`() throws {
    let tree = try FixtureTree()
    try tree.addAlice()
    try tree.write("/home/alice/.ssh/work", "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n")
    try tree.write("/home/alice/.ssh/id_rsa", "not a key\n")
    try tree.write("/home/alice/.ssh/notes", "not a key\n")
    try tree.write("/home/alice/.ssh/id_ed25519.pub", "ssh-ed25519 AAAA\n")
    try tree.makeSparse("/home/alice/.ssh/id_ecdsa", size: 10 << 30)
    let keys = try tree.doors().filter { $0.name.hasPrefix("ssh-key:") }
    #expect(keys.map(\.name).sorted() == ["id_ecdsa", "id_rsa", "work"].map { "ssh-key:alice:.ssh/\($0)" })
    #expect(keys.first { $0.name.hasSuffix("work") }?.answer == .notRequired)
    #expect(keys.filter { $0.answer == .unknown }.count == 2)
  }

  private static let open = "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n"

  @Test func `keys in folders below, and those that ssh's settings name`() throws {
    let tree = try FixtureTree()
    try tree.addAlice()
    let ssh = "/home/alice/.ssh"
    for path in [
      "\(ssh)/work/id_rsa", "\(ssh)/a/b/deep", "\(ssh)/a/b/c/deeper", "/home/alice/keys/one", "/home/alice/two",
    ] {
      try tree.write(path, Self.open)
    }
    try tree.write("/home/alice/three", Self.open)
    try tree.write("/home/alice/keys/one.pub", "ssh-rsa AAAA\n")
    try tree.write("/srv/shared", Self.open)
    try tree.write(
      "\(ssh)/config",
      """
      # IdentityFile ~/three
      Host *
        IdentityFile ~/keys/one
        IdentityFile ~/keys//./one
        identityfile = "%d/two"
        IdentityFile ~/./two
        IdentityFile ~/.ssh/work/id_rsa
        IdentityFile ~/.ssh/./work/id_rsa
        IdentityFile ~/keys/one.pub
        IdentityFile ~/keys/gone
        IdentityFile ~/../../srv/shared
        IdentityFile /srv/shared

      """)
    let keys = try tree.doors().filter { $0.name.hasPrefix("ssh-key:") }
    let paths = [".ssh/a/b/deep", ".ssh/work/id_rsa", "keys/one", "two"]
    #expect(keys.map(\.name).sorted() == paths.map { "ssh-key:alice:\($0)" })
    #expect(keys.allSatisfy { $0.opening == .always })
  }

  @Test func `the format of protocol 1`() {
    let magic = Array("SSH PRIVATE KEY FILE FORMAT 1.1\n\0".utf8)
    #expect(SSHPrivateKey(magic + [0, 0, 0, 0, 0]) == .open)
    #expect(SSHPrivateKey(magic + [3, 0, 0, 0, 0]) == .passphrase)
    #expect(SSHPrivateKey(magic) == .damaged("truncated"))
  }

  @Test func `dropbear's own format has no passphrase`() throws {
    func string(_ bytes: [UInt8]) -> [UInt8] { [0, 0, 0, UInt8(bytes.count)] + bytes }
    let kinds = ["ssh-rsa": 3, "ssh-dss": 5, "ecdsa-sha2-nistp256": 3]
    for (kind, count) in kinds {
      let fields = [UInt8](repeating: 7, count: 9)
      let key = string(Array(kind.utf8)) + Array((0..<count).map { _ in string(fields) }.joined())
      #expect(SSHPrivateKey(key) == .open)
      #expect(SSHPrivateKey(Array(key.dropLast())) == nil)
    }
    let secret = string(Array("ssh-ed25519".utf8)) + string([UInt8](repeating: 7, count: 64))
    #expect(SSHPrivateKey(secret) == .open)
    // The public half alone.
    #expect(SSHPrivateKey(string(Array("ssh-ed25519".utf8)) + string([UInt8](repeating: 7, count: 32))) == nil)
    let tree = try FixtureTree()
    try tree.addAlice()
    try tree.write("/home/alice/.ssh/id_dropbear", secret)
    #expect(try tree.doors().contains { $0.name == "ssh-key:alice:.ssh/id_dropbear" && $0.answer == .notRequired })
    try tree.write("/home/alice/.ssh/id_dropbear", "rubbish")
    #expect(try tree.doors().contains { $0.name == "ssh-key:alice:.ssh/id_dropbear" && $0.answer == .unknown })
  }

  @Test func `a key cut at any byte is never taken for a protected one`() throws {
    let whole = Self.openSSH(type: "ssh-ed25519", cipher: "aes256-ctr", secret: [1, 2, 3])
    #expect(SSHPrivateKey(whole) == .passphrase)
    // The last line may lack its newline and hyphens.
    for length in 0..<whole.count - 32 {
      let key = SSHPrivateKey(Array(whole.prefix(length)))
      #expect(key == nil || key == .damaged("truncated"), "\(length)")
    }
    var generator = SplitMix(freshSeed("key mutations"))
    for _ in 0..<5_000 { _ = SSHPrivateKey(generator.mutated(whole)) }
  }
}

/// Armour of RFC 7468.
enum PEM {
  static func text(_ label: String, _ bytes: [UInt8]) -> String {
    let letters = Base64URL.encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    let padding = String(repeating: "=", count: (4 - letters.count % 4) % 4)
    return "-----BEGIN \(label)-----\n\(String(letters))\(padding)\n-----END \(label)-----\n"
  }

  /// TSSPrivKey with its first fields.
  static func tss(emptyAuth: Bool) -> SSHPrivateKey? {
    let oid: [UInt8] = [0x06, 0x06, 0x67, 0x81, 0x05, 0x0A, 0x01, 0x03]
    let mark: [UInt8] = emptyAuth ? [0xA0, 0x03, 0x01, 0x01, 0xFF] : []
    let parent: [UInt8] = [0x02, 0x04, 0x40, 0x00, 0x00, 0x01]
    let body = oid + mark + parent
    return SSHPrivateKey(Array(text("TSS2 PRIVATE KEY", [0x30, UInt8(body.count)] + body).utf8))
  }
}
