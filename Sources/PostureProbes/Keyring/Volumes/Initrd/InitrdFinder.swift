import PosturePlatform

/// Finds the image that the system starts from.
struct InitrdFinder {
  let system: System

  private static let folders = [
    "/boot", "/boot/EFI/Linux", "/boot/efi/EFI/Linux", "/efi/EFI/Linux", "/boot/firmware",
  ]
  /// Images that are started only when something is wrong.
  private static let spare = ["rescue", "fallback", "kdump", ".old", ".bak", ".dpkg"]

  /// nil where none is found: some kernels bring theirs along, or need none.
  func find() -> String? {
    ofRunningKernel() ?? ofLoaderEntry() ?? ["/boot/initrd.img", "/initrd.img"].first(where: isImage) ?? newest()
  }

  private func isImage(_ path: String) -> Bool {
    guard let status = try? system.status(path) else { return false }
    return status.kind == .regular && status.size > 0
  }

  private func ofRunningKernel() -> String? {
    guard let release = system.text("/proc/sys/kernel/osrelease")?.trimmed, !release.isEmpty,
      !release.contains("/")
    else { return nil }
    return [
      "/boot/initrd.img-\(release)", "/boot/initramfs-\(release).img", "/boot/initrd-\(release)",
      "/boot/initrd-\(release).img", "/boot/initramfs-\(release)",
    ].first(where: isImage)
  }

  /// Boot Loader Specification, type 1: the newest entry's last image, as microcode stands before it.
  private func ofLoaderEntry() -> String? {
    for top in ["/boot", "/efi", "/boot/efi"] {
      let names = ((try? system.list("\(top)/loader/entries")) ?? []).filter { $0.ends(with: ".conf") && !isSpare($0) }
      guard let entry = names.max(by: Self.isOlder) else { continue }
      let images = (system.text("\(top)/loader/entries/\(entry)") ?? "").lines().compactMap {
        line -> String? in
        let words = line.words()
        return words.count == 2 && words[0] == "initrd" ? "\(top)/\(words[1].drop { $0 == "/" })" : nil
      }
      if let image = images.last(where: isImage) { return image }
    }
    return nil
  }

  private func newest() -> String? {
    let found = Self.folders.flatMap { folder in
      ((try? system.list(folder)) ?? []).filter { isName($0, isUnified: folder.ends(with: "EFI/Linux")) }
        .map { (name: $0, path: "\(folder)/\($0)") }
    }.filter { isImage($0.path) }
    let ordinary = found.filter { !isSpare($0.name) }
    return (ordinary.isEmpty ? found : ordinary).max { Self.isOlder($0.name, $1.name) }?.path
  }

  private func isName(_ name: String, isUnified: Bool) -> Bool {
    isUnified ? name.ends(with: ".efi") : name.hasPrefix("initrd") || name.hasPrefix("initramfs")
  }

  private func isSpare(_ name: String) -> Bool { Self.spare.contains { name.contains($0) } }

  /// By numbers where both have one: 6.9 before 6.10.
  static func isOlder(_ one: String, _ other: String) -> Bool {
    for (left, right) in zip(parts(one), parts(other)) where left != right {
      if let (a, b) = Int(left).flatMap({ a in Int(right).map { (a, $0) } }), a != b { return a < b }
      return left < right
    }
    return parts(one).count < parts(other).count
  }

  private static func parts(_ name: String) -> [String] {
    name.reduce(into: [String]()) { parts, character in
      if let last = parts.last?.last, last.isNumber == character.isNumber {
        parts[parts.count - 1].append(character)
      } else {
        parts.append(String(character))
      }
    }
  }
}

/// A kernel, its initial RAM disk and its command line in one file (Unified Kernel Image, a PE file).
struct UnifiedKernel {
  /// Where the RAM disk lies in the file.
  let initrd: Range<Int>
  let commandLine: String?

  private static let mostSections = 96

  /// nil for what is none.
  init?(_ system: System, _ path: String) {
    guard let reader = try? DeviceReader(system, path), let start = try? reader.read(0, 64),
      start.starts(with: "MZ".utf8)
    else { return nil }
    let head = Self.little(start, 60, 4)
    guard let header = try? reader.read(head, 24), header.starts(with: [0x50, 0x45, 0, 0]) else { return nil }
    let count = min(Self.little(header, 6, 2), Self.mostSections)
    guard let table = try? reader.read(head + 24 + Self.little(header, 20, 2), 40 * count) else { return nil }
    var sections: [String: Range<Int>] = [:]
    for row in 0..<count {
      let name = String(decoding: table[40 * row..<40 * row + 8].prefix { $0 != 0 }, as: UTF8.self)
      let size = min(Self.little(table, 40 * row + 8, 4), Self.little(table, 40 * row + 16, 4))
      let offset = Self.little(table, 40 * row + 20, 4)
      sections[name] = offset..<offset + size
    }
    guard let initrd = sections[".initrd"] else { return nil }
    self.initrd = initrd
    let words = sections[".cmdline"].flatMap { $0.count <= 65_536 ? try? reader.read($0.lowerBound, $0.count) : nil }
    commandLine = words.map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  private static func little(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> Int {
    bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
  }
}
