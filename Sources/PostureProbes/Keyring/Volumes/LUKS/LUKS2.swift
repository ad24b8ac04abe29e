import Posture

/// LUKS2 on-disk format: two copies of a binary header, each with its own JSON.
enum LUKS2 {
  private static let magic = Array("LUKS".utf8) + [0xBA, 0xBE]
  private static let secondMagic = Array("SKUL".utf8) + [0xBA, 0xBE]
  private static let binarySize = 4096
  /// Sizes that cryptsetup makes; with the first copy gone, the second is looked for at these offsets.
  private static let sizes = (14...22).map { 1 << $0 }

  /// One copy whose checksum is right.
  private struct Copy {
    var sequence: UInt64
    var json: [UInt8]
  }

  static func read(_ reader: borrowing DeviceReader) throws(LUKSFault) -> LUKSHeader {
    let first = try attempt(reader, magic, at: 0)
    let offsets = first.size.map { [$0] } ?? sizes
    var second: (copy: Copy?, size: Int?, fault: LUKSFault?) = (nil, nil, nil)
    for offset in offsets where second.copy == nil {
      let found = try attempt(reader, secondMagic, at: offset)
      if found.fault != .absent, second.fault == nil { second.fault = found.fault }
      if found.copy != nil { second = found }
    }
    switch (first.copy, second.copy) {
    case (let one?, let two?): return try header(one.sequence >= two.sequence ? one : two, isSecond: false)
    case (let one?, nil): return try header(one, isSecond: false)
    case (nil, let two?): return try header(two, isSecond: true)
    case (nil, nil): throw first.fault.flatMap { $0 == .absent ? nil : $0 } ?? second.fault ?? .absent
    }
  }

  /// The copy at `offset`, or what is wrong with it; its size where the binary part says one.
  private static func attempt(
    _ reader: borrowing DeviceReader, _ magic: [UInt8], at offset: Int
  ) throws(LUKSFault) -> (copy: Copy?, size: Int?, fault: LUKSFault?) {
    guard let binary = try reader.bytes(offset, binarySize) else {
      return (nil, nil, offset == 0 ? .truncated : .absent)
    }
    var fields = ByteReader(binary)
    guard fields.take(6) == magic, let version = fields.big16() else { return (nil, nil, .absent) }
    guard version == 2 else { return (nil, nil, .version(Int(version))) }
    guard let size = fields.big64(), let sequence = fields.big64(), let end = sizes.last, size <= UInt64(end),
      sizes.contains(Int(size)), place(in: binary) == UInt64(offset)
    else { return (nil, nil, .metadata("impossible header size or offset")) }
    guard let json = try reader.bytes(offset + binarySize, Int(size) - binarySize) else {
      return (nil, Int(size), .truncated)
    }
    guard isSound(binary, json) else { return (nil, Int(size), .checksum) }
    return (Copy(sequence: sequence, json: Array(json.prefix { $0 != 0 })), Int(size), nil)
  }

  private static func place(in binary: [UInt8]) -> UInt64? {
    var fields = ByteReader(binary, from: 256)
    return fields.big64()
  }

  /// The checksum covers the whole copy with the checksum itself as zeroes.
  private static func isSound(_ binary: [UInt8], _ json: [UInt8]) -> Bool {
    let algorithm = String(decoding: binary[72..<104].prefix { $0 != 0 }, as: UTF8.self)
    var cleared = binary
    for index in 448..<512 { cleared[index] = 0 }
    guard let sum = Cryptography.digest(algorithm, cleared[...], json[...]), sum.count <= 64 else { return false }
    return Array(binary[448..<448 + sum.count]) == sum
  }

  // MARK: The metadata

  /// Requirements that change nothing about who gets in.
  private static let knownRequirements: Set<String> = [
    "online-reencrypt", "online-reencrypt-v2", "online-reencrypt-v3", "opal", "inline-hw-tags",
  ]
  private static let mostSlots = 32
  private static let limits = JSONParser.Limits(bytes: 4 << 20, depth: 32, anyNumber: true)

  private static func header(_ copy: Copy, isSecond: Bool) throws(LUKSFault) -> LUKSHeader {
    let json: JSON
    do throws(JSONError) { json = try JSONParser.parse(copy.json, limits: limits) } catch {
      throw .metadata(error.description)
    }
    for name in json["config"]?["requirements"]?["mandatory"]?.array ?? [] {
      guard let name = name.string, knownRequirements.contains(name) else {
        throw .requirement(name.string ?? "something")
      }
    }
    var header = LUKSHeader(version: 2, slots: try slots(json))
    header.isFromSecondCopy = isSecond
    header.hasPlainData = (json["segments"]?.members ?? []).map(\.value).contains(where: isPlain)
    return header
  }

  private static func slots(_ json: JSON) throws(LUKSFault) -> [LUKSHeader.Slot] {
    guard let slots = json["keyslots"]?.members, let tokens = json["tokens"]?.members ?? [] as [JSON.Member]?,
      slots.count <= mostSlots, tokens.count <= mostSlots
    else { throw .metadata("no list of key slots, or too long a one") }
    let bound = boundSlots(json)
    return slots.filter { $0.value["type"]?.string != "reencrypt" && bound.contains($0.name) }
      .sorted { (Int($0.name) ?? 0, $0.name) < (Int($1.name) ?? 0, $1.name) }
      .map { slot in
        LUKSHeader.Slot(
          id: slot.name,
          tokens: tokens.filter { $0.value["keyslots"]?.array?.contains(.string(slot.name)) == true }
            .map { KeyslotToken($0.value) },
          isIgnored: slot.value["priority"]?.integer == 0,
          isOpen: slot.value["area"]?["encryption"]?.string?.hasPrefix("cipher_null") == true,
          keyslot: keyslot(slot, json))
      }
  }

  /// nil for another derivation than PBKDF2, and for what cannot be read.
  private static func keyslot(_ slot: JSON.Member, _ json: JSON) -> LUKSKeyslot? {
    let (area, split) = (slot.value["area"], slot.value["af"])
    let digests = json["digests"]?.members?.map(\.value) ?? []
    let digest = digests.first { $0["keyslots"]?.array?.contains(.string(slot.name)) == true }
    guard let passphrase = stretching(slot.value["kdf"]), let check = stretching(digest),
      area?["type"]?.string == "raw",
      let offset = area?["offset"]?.string.flatMap(Int.init), let encryption = area?["encryption"]?.string,
      let areaKeySize = area?["key_size"]?.integer, let keySize = slot.value["key_size"]?.integer,
      let stripes = split?["stripes"]?.integer, let splitHash = split?["hash"]?.string,
      let value = digest?["digest"]?.string.flatMap({ Base64.decode($0.utf8) })
    else { return nil }
    return LUKSKeyslot(
      passphrase: passphrase, offset: offset, encryption: encryption, areaKeySize: Int(areaKeySize),
      keySize: Int(keySize), stripes: Int(stripes), splitHash: splitHash, check: check, digest: value)
  }

  private static func stretching(_ json: JSON?) -> LUKSKeyslot.Stretching? {
    guard json?["type"]?.string == "pbkdf2", let hash = json?["hash"]?.string,
      let iterations = json?["iterations"]?.integer,
      let salt = json?["salt"]?.string.flatMap({ Base64.decode($0.utf8) })
    else { return nil }
    return LUKSKeyslot.Stretching(hash: hash, iterations: Int(iterations), salt: salt)
  }

  /// Backups of segments are of use to a reencryption alone.
  private static func isPlain(_ segment: JSON) -> Bool {
    if segment["flags"]?.array?.contains(where: { $0.string?.hasPrefix("backup-") == true }) == true { return false }
    return segment["type"]?.string == "linear" || segment["encryption"]?.string?.hasPrefix("cipher_null") == true
  }

  /// Slots of the digests that stand for a segment: others hold keys that open no data.
  private static func boundSlots(_ json: JSON) -> Set<String> {
    let segments = Set(json["segments"]?.members?.map(\.name) ?? [])
    var bound = Set<String>()
    for digest in json["digests"]?.members ?? [] {
      let covered = digest.value["segments"]?.array?.compactMap(\.string) ?? []
      if covered.contains(where: segments.contains) {
        bound.formUnion(digest.value["keyslots"]?.array?.compactMap(\.string) ?? [])
      }
    }
    return bound
  }
}
