/// A message of protocol buffers, as far as fscrypt's metadata need it: fields by number, nothing interpreted.
struct ProtoMessage {
  enum Value: Hashable {
    case number(UInt64)
    case bytes([UInt8])
  }

  private(set) var fields: [(number: UInt64, value: Value)] = []

  /// nil where the bytes are no message.
  init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    while reader.left > 0 {
      guard let tag = Self.varint(&reader), let value = Self.value(&reader, type: tag & 7) else { return nil }
      fields.append((tag >> 3, value))
    }
  }

  func text(_ number: UInt64) -> String? {
    guard case .bytes(let bytes)? = last(number) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  func number(_ number: UInt64) -> UInt64? {
    guard case .number(let value)? = last(number) else { return nil }
    return value
  }

  func messages(_ number: UInt64) -> [ProtoMessage] {
    fields.compactMap { field in
      guard field.number == number, case .bytes(let bytes) = field.value else { return nil }
      return ProtoMessage(bytes)
    }
  }

  private func last(_ number: UInt64) -> Value? { fields.last { $0.number == number }?.value }

  private static func value(_ reader: inout ByteReader, type: UInt64) -> Value? {
    switch type {
    case 0: return varint(&reader).map(Value.number)
    case 1: return reader.take(8).map(Value.bytes)
    case 2:
      guard let length = varint(&reader), length <= UInt64(reader.left) else { return nil }
      return reader.take(Int(length)).map(Value.bytes)
    case 5: return reader.take(4).map(Value.bytes)
    default: return nil
    }
  }

  private static func varint(_ reader: inout ByteReader) -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard let byte = reader.byte() else { return nil }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    return nil
  }
}

/// fscrypt's metadata of one file system: policies, and the protectors that open them.
struct FSCrypt {
  struct Protector: Hashable {
    enum Source: UInt64 {
      case login = 1
      case own = 2
      case rawKey = 3
    }
    /// nil: a kind that is not known.
    var source: Source?
    var uid: UInt64?
    var place: String
  }

  /// Protectors of each policy, by its descriptor; nil in place of one whose file is not there or unreadable.
  let policies: [String: [Protector?]]

  /// More than one policy has.
  private static let mostProtectors = 32

  /// - Parameter others: mount points that a linked protector may be on: one by a login passphrase is always kept on the
  ///   root file system.
  init(_ system: System, mount: String, others: [String]) {
    let base = Self.base(mount)
    let bases = [base] + others.map(Self.base).filter { $0 != base }
    var policies: [String: [Protector?]] = [:]
    for name in ((try? system.list("\(base)/policies")) ?? []).prefix(1024) {
      let wrapped = (try? system.read("\(base)/policies/\(name)", cap: 64 << 10)).flatMap { ProtoMessage($0.bytes) }
      policies[name] =
        wrapped?.messages(3).prefix(Self.mostProtectors).map { Self.protector(system, bases, $0.text(1) ?? "") } ?? [
          nil
        ]
    }
    self.policies = policies
  }

  private static func base(_ mount: String) -> String { mount == "/" ? "/.fscrypt" : "\(mount)/.fscrypt" }

  private static func protector(_ system: System, _ bases: [String], _ name: String) -> Protector? {
    guard !name.isEmpty, !name.contains("/") else { return nil }
    if let own = protector(system, "\(bases[0])/protectors/\(name)") { return own }
    guard system.exists("\(bases[0])/protectors/\(name).link") else { return nil }
    return bases.dropFirst().lazy.compactMap { protector(system, "\($0)/protectors/\(name)") }.first
  }

  private static func protector(_ system: System, _ path: String) -> Protector? {
    guard let file = try? system.read(path, cap: 64 << 10), let message = ProtoMessage(file.bytes) else { return nil }
    return Protector(source: message.number(2).flatMap(Protector.Source.init), uid: message.number(6), place: path)
  }
}
