import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// LUKS headers: those that cryptsetup makes, and those that nobody should.
struct KeyringLUKSTests {
  private static let cryptsetup = "/usr/sbin/cryptsetup"

  private func read(_ bytes: [UInt8]) throws -> Result<LUKSHeader, LUKSFault> {
    let tree = try FixtureTree()
    try tree.overwrite("/disk", bytes)
    let system = try System(root: tree.root)
    return Result { () throws(LUKSFault) in try LUKSHeader.read(system, "/disk") }
  }

  private func slots(_ result: Result<LUKSHeader, LUKSFault>) throws -> [LUKSHeader.Slot] { try result.get().slots }

  // MARK: Real ones

  @Test(.enabled(if: Tools.has(cryptsetup)), .timeLimit(.minutes(2)), arguments: ["luks1", "luks2"])
  func `cryptsetup and we see the same slots`(type: String) throws {
    let folder = try Folder()
    let image = try folder.write("image", "")
    truncate(image, 32 << 20)
    let key = try folder.write("key", "first")
    let other = try folder.write("other", "second")
    let cost = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"]
    try Tools.run(Self.cryptsetup, ["-q", "luksFormat", "--type", type, image, key] + cost)
    try Tools.run(Self.cryptsetup, ["-q", "luksAddKey", "--key-slot", "5", "--key-file", key, image, other] + cost)
    let system = try System(root: folder.path)
    #expect(try LUKSHeader.read(system, "/image").slots.map(\.id) == ["0", "5"])
    try Tools.run(Self.cryptsetup, ["-q", "luksKillSlot", "--key-file", other, image, "0"])
    let header = try LUKSHeader.read(try System(root: folder.path), "/image")
    #expect(header.slots.map(\.id) == ["5"] && header.version == (type == "luks1" ? 1 : 2))
    let dump = try Tools.run(Self.cryptsetup, ["luksDump", image])
    #expect(dump.contains(type == "luks1" ? "Key Slot 5: ENABLED" : "  5: luks2"))
  }

  @Test(.enabled(if: Tools.has(cryptsetup)), .timeLimit(.minutes(2)))
  func `tokens that cryptsetup takes, and its priorities`() throws {
    let folder = try Folder()
    let image = try folder.write("image", "")
    truncate(image, 32 << 20)
    let key = try folder.write("key", "first")
    let cost = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"]
    try Tools.run(Self.cryptsetup, ["-q", "luksFormat", "--type", "luks2", image, key] + cost)
    let other = try folder.write("other", "second")
    try Tools.run(Self.cryptsetup, ["-q", "luksAddKey", "--key-file", key, image, other] + cost)
    try Tools.run(Self.cryptsetup, ["-q", "config", "--key-slot", "1", "--priority", "ignore", image])
    let token = #"{"type":"clevis","keyslots":["0"],"jwe":{"protected":"eyJjbGV2aXMiOnsicGluIjoidGFuZyJ9fQ"}}"#
    try Tools.run(Self.cryptsetup, ["token", "import", "--json-file", "-", image], input: Array(token.utf8))
    let slots = try LUKSHeader.read(try System(root: folder.path), "/image").slots
    #expect(slots.map(\.id) == ["0", "1"] && slots.map(\.isIgnored) == [false, true])
    #expect(slots.map(\.tokens) == [[.clevis(.tang)], []])
  }

  @Test(.enabled(if: Tools.has(cryptsetup)), .timeLimit(.minutes(2)), arguments: ["luks1", "luks2"])
  func `the empty passphrase is found by trying it`(type: String) throws {
    let folder = try Folder()
    let image = try folder.write("image", "")
    truncate(image, 32 << 20)
    let key = try folder.write("key", "first")
    let cost = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"]
    try Tools.run(Self.cryptsetup, ["-q", "luksFormat", "--type", type, image, key] + cost)
    func trials() throws -> [Bool?] {
      try LUKSHeader.read(try System(root: folder.path), "/image").slots.map(\.opensWithNothing)
    }
    func judge(_ words: String...) throws -> Int32? {
      try Python.command([Repository.path("Tests/Judges/empty_passphrase.py")] + words).run().status
    }
    #expect(try trials() == [false])
    #expect(try judge("try", image) == 1)
    #expect(try judge("add", image, "first") == 0)
    #expect(try judge("try", image) == 0)
    #expect(try trials() == [false, true])
    // What a person's passphrase costs is not spent, and neither is a memory-hard one.
    let other = try folder.write("other", "second")
    let dear = type == "luks1" ? ["--pbkdf-force-iterations", "60000"] : ["--pbkdf", "argon2id", "--iter-time", "1"]
    try Tools.run(Self.cryptsetup, ["-q", "luksAddKey", "--key-file", key, image, other] + dear)
    #expect(try trials() == [false, true, nil])
    // Of the header alone nothing can be tried.
    truncate(image, type == "luks1" ? 4096 : 32_768)
    #expect(try trials() == [nil, nil, nil])
  }

  /// Confirms that headers made here are ones that cryptsetup reads.
  @Test(.enabled(if: Tools.has(cryptsetup)))
  func `cryptsetup reads what the builder makes`() throws {
    let folder = try Folder()
    let source = "\(Repository.root)/Tests/Cases/112-tpm2-with-pin-and-fido2/root/luks/header.img"
    let json = try AtomicFile.readAny(source)[4096..<16_384].prefix { $0 != 0 }
    try AtomicFile.write(LUKSBuilder.image(String(decoding: json, as: UTF8.self)), to: folder.file("image"))
    truncate(folder.file("image"), 32 << 20)
    let dump = try Tools.run(
      Self.cryptsetup, ["luksDump", "--disable-locks", "--header", folder.file("image"), folder.file("image")])
    #expect(dump.contains("systemd-tpm2") && dump.contains("systemd-fido2"))
  }

  // MARK: Two copies

  @Test func `the copy whose checksum is right, and the later of two`() throws {
    let one = Array(LUKSBuilder.metadata(slots: 1).utf8)
    let two = Array(LUKSBuilder.metadata(slots: 2).utf8)
    let size = LUKSBuilder.size
    func count(_ bytes: [UInt8]) throws -> Int { try slots(try read(bytes)).count }
    #expect(try count(LUKSBuilder.copy(one, sequence: 4) + LUKSBuilder.copy(two, at: size, sequence: 3)) == 1)
    #expect(try count(LUKSBuilder.copy(one, sequence: 3) + LUKSBuilder.copy(two, at: size, sequence: 4)) == 2)
    #expect(try count(LUKSBuilder.copy(one, sequence: 9, isSound: false) + LUKSBuilder.copy(two, at: size)) == 2)
    #expect(try count(LUKSBuilder.copy(one) + LUKSBuilder.copy(two, at: size, sequence: 9, isSound: false)) == 1)
    let wiped = [UInt8](repeating: 0, count: size) + LUKSBuilder.copy(two, at: size)
    #expect(try read(wiped).get().isFromSecondCopy)
    let bad = LUKSBuilder.copy(one, isSound: false) + LUKSBuilder.copy(two, at: size, isSound: false)
    #expect(try read(bad) == .failure(.checksum))
  }

  @Test func `headers of every size that cryptsetup makes`() throws {
    for shift in 14...22 {
      let size = 1 << shift
      let json = Array(LUKSBuilder.metadata(slots: 3).utf8)
      let image =
        LUKSBuilder.copy(json, size: UInt64(size), isSound: false)
        + LUKSBuilder.copy(json, at: size, size: UInt64(size))
      #expect(try slots(try read(image)).count == 3, "\(size)")
      // With the first copy gone, the second is found by trying.
      #expect(try slots(try read([UInt8](repeating: 0, count: size) + image[size...])).count == 3, "\(size)")
    }
  }

  // MARK: Hostile ones

  private func fault(_ json: String, size: UInt64 = UInt64(LUKSBuilder.size)) throws -> LUKSFault? {
    if case .failure(let fault) = try read(LUKSBuilder.copy(Array(json.utf8), size: size)) { fault } else { nil }
  }

  @Test func `sizes and offsets that cannot be`() throws {
    let json = Array(LUKSBuilder.metadata(slots: 1).utf8)
    for size: UInt64 in [0, 1, 4096, 16_383, 16_385, 8 << 20, 1 << 63, .max] {
      guard case .failure = try read(LUKSBuilder.copy(json, size: size)) else {
        Issue.record("\(size)")
        continue
      }
    }
    // The file ends within what the header claims.
    let short = Array(LUKSBuilder.copy(json, size: 4 << 20).prefix(100_000))
    #expect(try read(short) == .failure(.truncated))
    #expect(try read(LUKSBuilder.copy(json, version: 3)) == .failure(.version(3)))
    #expect(try read(LUKSBuilder.copy(json, algorithm: "rot13")) == .failure(.checksum))
    #expect(try read([]) == .failure(.truncated))
    #expect(try read(Array("LUKS".utf8) + [0xBA, 0xBE, 0, 1]) == .failure(.truncated))
    #expect(try read([UInt8](repeating: 0, count: 1 << 20)) == .failure(.absent))
  }

  @Test(.timeLimit(.minutes(1))) func `metadata of four mebibytes, ten thousand deep, of a million members`() throws {
    let room = (4 << 20) - 4096
    let deep = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
    #expect(try fault("{\"tokens\":\(deep)}", size: 1 << 17) != nil)
    let long = "{\"keyslots\":{" + (0..<200_000).map { "\"\($0)\":{}" }.joined(separator: ",") + "}}"
    #expect(long.utf8.count < room)
    let began = Clock.processNanoseconds
    #expect(try fault(long, size: 4 << 20) != nil)
    let text = "{\"keyslots\":{},\"x\":\"" + String(repeating: "a", count: room - 40) + "\"}"
    #expect(try fault(text, size: 4 << 20) == nil)
    // A debug build takes some 50 times what a release build does.
    #expect(Clock.processNanoseconds - began < 20_000_000_000)
  }

  @Test func `metadata that are not what they should be`() throws {
    let sound = LUKSBuilder.metadata(slots: 1)
    #expect(try fault(sound) == nil)
    for broken in [
      "", "{", "[]", "null", "{}", "{\"keyslots\":[]}", "{\"keyslots\":{},\"keyslots\":{}}", "\u{0}\(sound)",
    ] {
      #expect(try fault(broken) != nil, "\(broken)")
    }
    let many = LUKSBuilder.metadata(slots: 33)
    #expect(try fault(many) == .metadata("no list of key slots, or too long a one"))
    let strange = sound.replacing("\"json_size\"", with: "\"requirements\":{\"mandatory\":[\"quantum\"]},\"json_size\"")
    #expect(try fault(strange) == .requirement("quantum"))
    let opal = sound.replacing("\"json_size\"", with: "\"requirements\":{\"mandatory\":[\"opal\"]},\"json_size\"")
    #expect(try fault(opal) == nil)
  }

  @Test func `slots without data behind them open nothing`() throws {
    let json = LUKSBuilder.metadata(slots: 3)
    let unbound = json.replacing("\"keyslots\":[\"0\",\"1\",\"2\"]", with: "\"keyslots\":[\"1\"]")
    #expect(try slots(try read(LUKSBuilder.copy(Array(unbound.utf8)))).map(\.id) == ["1"])
    let reencrypting = json.replacing("\"2\":{\"type\":\"luks2\"", with: "\"2\":{\"type\":\"reencrypt\"")
    #expect(try slots(try read(LUKSBuilder.copy(Array(reencrypting.utf8)))).map(\.id) == ["0", "1"])
  }

  @Test func `an image cut anywhere is never taken for one without ways in`() throws {
    let image = LUKSBuilder.copy(Array(LUKSBuilder.metadata(slots: 1).utf8))
    let tree = try FixtureTree()
    var generator = SplitMix(freshSeed("LUKS cuts"))
    let lengths = Array(0..<600) + (0..<200).map { _ in Int.random(in: 600..<image.count, using: &generator) }
    for length in lengths {
      try tree.overwrite("/disk", Array(image.prefix(length)))
      let system = try System(root: tree.root)
      #expect(throws: LUKSFault.self) { try LUKSHeader.read(system, "/disk") }
    }
  }

  @Test func `no mutation of a header crashes the reader`() throws {
    let seed = freshSeed("LUKS mutations")
    var generator = SplitMix(seed)
    let tokens = [
      ("systemd-tpm2", 0, ",\"tpm2-pcrs\":[7],\"tpm2-pin\":true"), ("systemd-fido2", 1, ""),
      ("clevis", 1, ",\"jwe\":{}"),
    ]
    let json = Array(LUKSBuilder.metadata(slots: 2, tokens: tokens).utf8)
    let tree = try FixtureTree()
    var sound = 0
    for _ in 0..<600 {
      // The checksum is made right again, so that the mutation reaches the metadata.
      try tree.overwrite("/disk", LUKSBuilder.copy(generator.mutated(json)))
      let system = try System(root: tree.root)
      if (try? LUKSHeader.read(system, "/disk")) != nil { sound += 1 }
    }
    print("still a header after mutation: \(sound) of 600")
    let whole = LUKSBuilder.image(String(decoding: json, as: UTF8.self))
    for _ in 0..<200 {
      try tree.overwrite("/disk", generator.mutated(whole))
      let system = try System(root: tree.root)
      _ = try? LUKSHeader.read(system, "/disk")
    }
  }

  // MARK: LUKS1 and luksmeta

  private static func luks1(active: Set<Int>, token: String? = nil) -> [UInt8] {
    func big(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
    var bytes = [UInt8](repeating: 0, count: 2 << 20)
    func put(_ part: [UInt8], _ place: Int) { bytes.replaceSubrange(place..<place + part.count, with: part) }
    put(LUKS1.magic, 0)
    put(big(4096) + big(64), 104)
    for slot in 0..<8 {
      put(big(active.contains(slot) ? 0x00AC_71F3 : 0xDEAD), 208 + 48 * slot)
      put(big(8 + 504 * slot) + big(4000), 208 + 48 * slot + 40)
    }
    guard let token else { return bytes }
    // The last slot's material ends at (8 + 504 * 7) * 512 + 64 * 4000.
    let hole = ((8 + 504 * 7) * 512 + 256_000 + 4095) / 4096 * 4096
    let uuid: [UInt8] = [
      0xCB, 0x6E, 0x89, 0x04, 0x81, 0xFF, 0x40, 0xDA, 0xA8, 0x4A, 0x07, 0xAB, 0x9A, 0xB5, 0x71, 0x5E,
    ]
    put(Array("LUKSMETA".utf8) + big(1) + big(0), hole)
    put(uuid + big(4096) + big(token.utf8.count) + big(0), hole + 16 + 32)
    put(Array(token.utf8), hole + 4096)
    return bytes
  }

  @Test func `slots of LUKS1, and what clevis keeps behind them`() throws {
    #expect(try slots(try read(Self.luks1(active: [0, 7]))).map(\.id) == ["0", "7"])
    let token = Base64URL.encode(Array(#"{"clevis":{"pin":"tpm2","tpm2":{"pcr_ids":"7"}}}"#.utf8)) + "..x.y.z"
    let bound = try slots(try read(Self.luks1(active: [0, 1], token: token)))
    #expect(bound.map(\.id) == ["0", "1"])
    #expect(bound.map(\.tokens) == [[], [.clevis(.tpm2(isBoundToBootState: true))]])
    var odd = Self.luks1(active: [0])
    odd[208] = 0x55
    #expect(try read(odd) == .failure(.metadata("impossible state of slot 0")))
    var generator = SplitMix(freshSeed("LUKS1 mutations"))
    let whole = Self.luks1(active: [0, 1], token: token)
    for _ in 0..<200 {
      var bytes = whole
      for _ in 0..<4 {
        bytes[Int.random(in: 100..<600, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      _ = try read(bytes)
    }
  }

  // MARK: clevis

  private func pin(_ json: String) -> ClevisPin? { ClevisPin(compact: Base64URL.encode(Array(json.utf8)) + "....") }

  private func shares(_ threshold: Int, _ pins: String...) -> ClevisPin? {
    let tokens = pins.map { "\"" + Base64URL.encode(Array(#"{"clevis":\#($0)}"#.utf8)) + "....\"" }
    return pin(#"{"clevis":{"pin":"sss","sss":{"t":\#(threshold),"jwe":[\#(tokens.joined(separator: ","))]}}}"#)
  }

  @Test func `shares of clevis open with any that reach the threshold`() {
    let (tpm, tang, card) = (#"{"pin":"tpm2","tpm2":{}}"#, #"{"pin":"tang"}"#, #"{"pin":"pkcs11"}"#)
    #expect(shares(1, tpm, tang)?.opening == .always)
    #expect(shares(2, tpm, tang)?.opening == Opening([.device]))
    #expect(shares(2, tpm, tang, card)?.opening == Opening([.device], [.token]))
    #expect(shares(3, tpm, tang, card)?.opening == Opening([.device, .token]))
    #expect(shares(4, tpm, tang, card)?.opening == .never)
    #expect(shares(1, tpm, #"{"pin":"moon"}"#)?.opening == nil)
    #expect(shares(1, tang, #"{"pin":"moon"}"#)?.opening == .always)
    #expect(shares(0, tpm) == nil)
    #expect(shares(1) == nil)
    #expect(pin(#"{"clevis":{"pin":"tpm2","tpm2":{"pcr_ids":""}}}"#) == .tpm2(isBoundToBootState: false))
    #expect(pin("{}") == nil)
    #expect(ClevisPin(compact: "") == nil)
  }

  @Test(.timeLimit(.minutes(1))) func `shares within shares end`() {
    var inner = #"{"pin":"tang"}"#
    for _ in 0..<12 {
      let token = Base64URL.encode(Array(#"{"clevis":\#(inner)}"#.utf8))
      inner = #"{"pin":"sss","sss":{"t":1,"jwe":["\#(token)...."]}}"#
    }
    #expect(pin(#"{"clevis":\#(inner)}"#)?.opening == nil)
  }
}
