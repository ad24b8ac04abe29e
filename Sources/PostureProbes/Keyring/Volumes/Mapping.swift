import Posture

/// An encrypted volume as the system sets it up: from crypttab, the kernel's command line or the running device mapper.
struct Mapping: Hashable, Sendable {
  /// The name of the mapping: `volume:<name>`.
  var name: String
  var entry: CrypttabEntry?
  /// The device that holds it, as crypttab or the command line names it, or a path below /dev.
  var source: String?
  /// Device mapper's uuid while it is open.
  var uuid: String?
  var place: Place

  /// What device mapper says it is: `LUKS2`, `LUKS1`, `PLAIN`, `TCRYPT`, `BITLK`.
  var kind: String? { parts.map { String($0[1]) } }

  private var parts: [Substring]? {
    guard let parts = uuid?.split(separator: "-", maxSplits: 3), parts.count > 1 else { return nil }
    return parts
  }

  /// The number of the LUKS header, with hyphens, by device mapper's uuid.
  var number: String? {
    guard let parts, parts.count > 2, parts[2].utf8.count == 32 else { return nil }
    var rest = parts[2]
    return [8, 4, 4, 4, 12].map { length in
      defer { rest = rest.dropFirst(length) }
      return String(rest.prefix(length))
    }.joined(separator: "-")
  }
}
