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
  var kind: String? {
    guard let parts = uuid?.split(separator: "-", maxSplits: 2), parts.count > 1 else { return nil }
    return String(parts[1])
  }
}
