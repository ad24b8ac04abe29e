import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// KWallet: what the header says, and whether "" opens it.
struct KeyringWalletTests {
  private static let folder = "/home/alice/.local/share/kwalletd"
  private static let source = Repository.path(
    "Tests/Cases/107-kwallet-blank-password/root/home/alice/.local/share/kwalletd")
  private static func file(_ name: String) throws -> [UInt8] { try AtomicFile.readAny("\(source)/\(name)") }

  @Test func `a blank password is found by deriving the key`() throws {
    let wallet = try #require(KWallet(try Self.file("kdewallet.kwl")))
    let salt = try Self.file("kdewallet.salt")
    #expect(wallet.cipher == .blowfishCBC && wallet.hash == .pbkdf2SHA512)
    #expect(wallet.opensWithNothing(salt: salt) == true)
    // With another salt "" derives another key: as with any other password.
    #expect(wallet.opensWithNothing(salt: salt.map { $0 ^ 1 }) == false)
    #expect(wallet.opensWithNothing(salt: nil) == nil)
    #expect(wallet.opensWithNothing(salt: []) == nil)
  }

  @Test func `rows of a wallet`() throws {
    let tree = try FixtureTree()
    try tree.addAlice()
    try tree.write("\(Self.folder)/kdewallet.kwl", Self.file("kdewallet.kwl"))
    #expect(try tree.door("secrets@kwallet:kdewallet")?.answer == .unknown)
    try tree.write("\(Self.folder)/kdewallet.salt", Self.file("kdewallet.salt"))
    let blank = try #require(try tree.door("secrets@kwallet:kdewallet"))
    #expect(blank.opening == .always && blank.isDefault && blank.cause?.code == "keyringWithoutPassword")
    #expect(blank.proof == Door.Proof(.derivation, .ok, reason: "emptyPassword"))
    try tree.write("/home/alice/.config/kwalletrc", "[Wallet]\nDefault Wallet=other\n")
    #expect(try tree.door("secrets@kwallet:kdewallet")?.isDefault == false)
    try tree.write("\(Self.folder)/kdewallet.salt", [UInt8](repeating: 7, count: 56))
    let protected = try #require(try tree.door("secrets@kwallet:kdewallet"))
    #expect(protected.opening == .passcode && protected.whose == .wallet)
  }

  @Test func `the cost of trying is bounded, the default first`() throws {
    let tree = try FixtureTree()
    try tree.addAlice()
    for number in 0..<20 {
      try tree.write("\(Self.folder)/a\(number).kwl", Self.file("kdewallet.kwl"))
      try tree.write("\(Self.folder)/a\(number).salt", Self.file("kdewallet.salt"))
    }
    try tree.write("\(Self.folder)/kdewallet.kwl", Self.file("kdewallet.kwl"))
    try tree.write("\(Self.folder)/kdewallet.salt", Self.file("kdewallet.salt"))
    let wallets = try tree.doors().filter { $0.name.hasPrefix("secrets@kwallet:") }
    #expect(wallets.count == 21)
    // Four beside the default.
    #expect(wallets.filter { $0.answer == .notRequired }.count == 5)
    #expect(wallets.filter { $0.answer == .unknown }.count == 16)
    #expect(wallets.first(where: \.isDefault)?.answer == .notRequired)
  }

  @Test func `one person's many wallets leave everybody's default to be tried`() throws {
    let tree = try FixtureTree([
      "/etc/passwd": "alice:x:1000:1000::/home/alice:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n"
    ])
    for home in (0..<6).map({ "\(Self.folder)/a\($0)" }) + ["/home/bob/.local/share/kwalletd/kdewallet"] {
      try tree.write("\(home).kwl", Self.file("kdewallet.kwl"))
      try tree.write("\(home).salt", Self.file("kdewallet.salt"))
    }
    #expect(try tree.door("secrets@kwallet:kdewallet")?.opening == .always)
  }

  @Test func `other formats are unknown`() throws {
    let whole = try Self.file("kdewallet.kwl")
    for length in 0..<whole.count { #expect(KWallet(Array(whole.prefix(length))) == nil, "\(length)") }
    var gpg = whole
    gpg[14] = 2
    let tree = try FixtureTree()
    try tree.addAlice()
    try tree.write("\(Self.folder)/kdewallet.kwl", gpg)
    #expect(try tree.door("secrets@kwallet:kdewallet")?.answer == .unknown)
    for position in 12..<16 {
      var other = whole
      other[position] = 9
      #expect(KWallet(other) == nil)
    }
    var generator = SplitMix(freshSeed("wallet mutations"))
    for _ in 0..<20_000 { _ = KWallet(generator.mutated(whole)) }
  }
}
