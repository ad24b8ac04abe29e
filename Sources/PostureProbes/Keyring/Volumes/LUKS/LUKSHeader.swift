/// What a LUKS header says about the ways into its volume.
struct LUKSHeader: Hashable, Sendable {
  struct Slot: Hashable, Sendable {
    /// Its number.
    var id: String
    var tokens: [KeyslotToken] = []
    /// Not tried unless it is named (LUKS2 priority 0).
    var isIgnored = false
    /// The volume's key lies in it as it is: its area is "encrypted" with the null cipher.
    var isOpen = false
    /// nil for a derivation that is not tried.
    var keyslot: LUKSKeyslot?
    /// Whether the empty passphrase opens it; nil where that was not tried.
    var opensWithNothing: Bool?
  }

  /// 1 or 2.
  var version: Int
  /// Those that open the data, in the order of their numbers.
  var slots: [Slot]
  /// The first copy was damaged, and this is the second one.
  var isFromSecondCopy = false
  /// Some of the data is not encrypted: the null cipher, or an encryption or decryption that is under way.
  var hasPlainData = false
}

/// Why a header cannot be used.
enum LUKSFault: Error, Hashable, Sendable {
  /// There is no LUKS header.
  case absent
  case unreadable(System.Unreadable)
  case truncated
  case checksum
  case version(Int)
  /// The metadata are no JSON, or too deep, or not what they should be.
  case metadata(String)
  /// A later cryptsetup marked it as something that older ones must not touch.
  case requirement(String)

  /// For `observed`.
  var words: String {
    switch self {
    case .absent: "has no LUKS header"
    case .unreadable(let why): why.words
    case .truncated: "ends within its LUKS header"
    case .checksum: "has a LUKS header with a wrong checksum in both copies"
    case .version(let version): "has a LUKS header of version \(version)"
    case .metadata(let what): "has LUKS metadata that cannot be used: \(what)"
    case .requirement(let name): "has LUKS metadata that require \(name)"
    }
  }
}

extension LUKSHeader {
  /// Reads the header of `path` (the device, or a file with its detached header).
  static func read(_ system: System, _ path: String) throws(LUKSFault) -> LUKSHeader {
    let reader: DeviceReader
    do throws(System.Unreadable) { reader = try DeviceReader(system, path) } catch { throw .unreadable(error) }
    guard let start = try reader.bytes(0, 8) else { throw .truncated }
    var header = start == LUKS1.magic ? try LUKS1.read(reader) : try LUKS2.read(reader)
    for index in header.slots.indices {
      header.slots[index].opensWithNothing = try header.slots[index].keyslot?.opensWithNothing(reader)
    }
    return header
  }
}

extension DeviceReader {
  /// nil where the device ends before.
  func bytes(_ offset: Int, _ count: Int) throws(LUKSFault) -> [UInt8]? {
    do throws(System.Unreadable) { return try read(offset, count) } catch { throw .unreadable(error) }
  }
}
