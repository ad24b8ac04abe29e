import Posture

/// What is mounted where: the running system's mountinfo, completed with fstab(5).
struct MountTable: Sendable {
  struct Mount: Hashable, Sendable {
    var point: String
    /// Device, `UUID=…`, or whatever the file system calls its source.
    var source: String
    var type: String
    /// `major:minor`, where mountinfo says it.
    var number: String?
    /// Options of the file system itself (mountinfo), or of the row (fstab).
    var options: [String]
    /// The row of fstab where there is one, else of mountinfo.
    var place: Place
  }

  /// One for each mount point: the last row wins, as the later mount covers the earlier one.
  let mounts: [Mount]
  /// Sources of swap space.
  let swaps: [Mount]
  /// What fstab calls a volume may differ from what mountinfo does.
  let fstab: [Mount]
  /// What could not be used.
  let gaps: [Gap]

  /// More rows than any system has; what comes after them is passed over.
  private static let mostRows = 4096

  init(_ system: System) {
    let (text, running) = (Self.read(system, "/etc/fstab"), Self.read(system, "/proc/self/mountinfo"))
    gaps = [text.gap, running.gap].compactMap { $0 }
    let rows = Self.fstab(text.text)
    fstab = rows.filter { $0.type != "swap" }
    swaps = rows.filter { $0.type == "swap" } + Self.activeSwaps(system.text("/proc/swaps") ?? "")
    var byPoint: [String: Mount] = [:]
    for mount in fstab { byPoint[mount.point] = mount }
    for mount in Self.mountinfo(of: system) {
      var mount = mount
      if let known = fstab.last(where: { $0.point == mount.point }) { mount.place = known.place }
      byPoint[mount.point] = mount
    }
    mounts = byPoint.values.sorted { $0.point < $1.point }
  }

  private static func read(_ system: System, _ path: String) -> (text: String, gap: Gap?) {
    do throws(System.Unreadable) {
      let text = try system.read(path, cap: 4 << 20).text
      let isLong = text.utf8.lazy.filter { $0 == 10 }.count > mostRows
      return (text, isLong ? Crypttab.gap(path, .tooLarge) : nil)
    } catch { return ("", error == .missing ? nil : Crypttab.gap(path, error)) }
  }

  /// The mount whose tree holds `path`, of those that are not at `point`.
  func mount(holding path: String, except point: String? = nil) -> Mount? {
    mounts.filter { Self.isInside(path, $0.point) && $0.point != point }.max {
      $0.point.utf8.count < $1.point.utf8.count
    }
  }

  static func isInside(_ path: String, _ folder: String) -> Bool {
    folder == "/" || path == folder || path.hasPrefix(folder + "/")
  }

  // MARK: The files

  /// Fields of proc(5) mountinfo: id, parent, major:minor, root, point, options, tags …, "-", type, source, super options.
  static func mountinfo(_ text: String, path: String = "/proc/self/mountinfo") -> [Mount] {
    rows(text).compactMap { line, fields in
      guard fields.count >= 10, let dash = fields.dropFirst(6).firstIndex(of: "-"), fields.count > dash + 2 else {
        return nil
      }
      let options = fields.count > dash + 3 ? fields[dash + 3].split(separator: ",").map(String.init) : []
      return Mount(
        point: unescaped(fields[4]), source: unescaped(fields[dash + 2]), type: String(fields[dash + 1]),
        number: String(fields[2]), options: options, place: Place(path, line: line))
    }
  }

  /// The machine's mounts, as its first process sees them: a service behind a fence of its own has more, which are none
  /// of the machine's.
  private static func mountinfo(of system: System) -> [Mount] {
    for path in ["/proc/1/mountinfo", "/proc/self/mountinfo"] {
      if let text = system.text(path), !text.isEmpty { return mountinfo(text, path: path) }
    }
    return []
  }

  static func fstab(_ text: String) -> [Mount] {
    rows(text).compactMap { line, fields in
      guard fields.count >= 3, !fields[0].hasPrefix("#") else { return nil }
      let options = fields.count > 3 ? fields[3].split(separator: ",").map(String.init) : []
      return Mount(
        point: unescaped(fields[1]), source: unquoted(unescaped(fields[0])), type: String(fields[2]), number: nil,
        options: options, place: Place("/etc/fstab", line: line))
    }
  }

  private static func activeSwaps(_ text: String) -> [Mount] {
    rows(text).dropFirst().compactMap { line, fields in
      guard fields.count >= 2, fields[1] == "partition" || fields[1] == "file" else { return nil }
      return Mount(
        point: "none", source: unescaped(fields[0]), type: "swap", number: nil, options: [],
        place: Place("/proc/swaps", line: line))
    }
  }

  private static func rows(_ text: String) -> [(line: Int, fields: [Substring])] {
    text.lines(keepsEmpty: true, most: mostRows).prefix(mostRows).enumerated()
      .map { index, line in (index + 1, line.split { $0 == " " || $0 == "\t" }) }
  }

  private static func unquoted(_ text: String) -> String { text.filter { $0 != "\"" } }

  /// Blanks and backslashes are written as `\040` and the like.
  private static func unescaped(_ field: Substring) -> String {
    guard field.contains("\\") else { return String(field) }
    var out: [UInt8] = []
    var rest = Array(field.utf8)[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3).map { Int($0) - 48 }
      guard byte == UInt8(ascii: "\\"), digits.count == 3, digits.allSatisfy({ (0..<8).contains($0) }) else {
        out.append(byte)
        continue
      }
      out.append(UInt8(truncatingIfNeeded: digits.reduce(0) { $0 * 8 + $1 }))
      rest = rest.dropFirst(3)
    }
    return String(decoding: out, as: UTF8.self)
  }
}
