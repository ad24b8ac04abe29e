/// The folders that an overlay is made of, by its mount options.
struct OverlayLayers: Hashable, Sendable {
  private var upper: [String] = []
  private var lower: [String] = []
  /// Below those that tell names alone (`lowerdir=a::b`, `datadir+=b`).
  private var data: [String] = []

  init(_ options: [String]) {
    for option in options {
      let parts = option.split(separator: "=", maxSplits: 1)
      guard parts.count == 2 else { continue }
      switch parts[0] {
      case "upperdir": upper.append(String(parts[1]))
      case "lowerdir+": lower.append(String(parts[1]))
      case "datadir+": data.append(String(parts[1]))
      case "lowerdir": take(parts[1])
      default: break
      }
    }
  }

  private mutating func take(_ list: Substring) {
    let folders = list.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    let end = folders.firstIndex(of: "") ?? folders.endIndex
    lower += folders[..<end]
    data += folders[end...].filter { !$0.isEmpty }
  }

  /// Those that hold what is in its files.
  var folders: [String] { upper + (data.isEmpty ? lower : data) }
}
