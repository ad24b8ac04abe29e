extension PAM {
  /// Version of the libpam that is installed.
  struct Version: Comparable, Hashable, Sendable, CustomStringConvertible {
    var major: Int
    var minor: Int
    var patch: Int

    init(_ major: Int, _ minor: Int, _ patch: Int = 0) {
      self.major = major
      self.minor = minor
      self.patch = patch
    }

    /// The leading numbers of `1.5.2-6+deb12u2` or `1:1.3.1`.
    init?(_ text: some StringProtocol) {
      let upstream = text.split(separator: ":", omittingEmptySubsequences: false).last ?? ""
      let numbers = upstream.prefix { $0.isNumber || $0 == "." }.split(separator: ".").map { Int($0) }
      guard numbers.count >= 2, let major = numbers[0], let minor = numbers[1], major < 100 else { return nil }
      self.init(major, minor, (numbers.count > 2 ? numbers[2] : nil) ?? 0)
    }

    static func < (left: Version, right: Version) -> Bool {
      (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }

    var description: String { "\(major).\(minor).\(patch)" }
  }
}

extension PAM.Version {
  /// As the system's package database, or a name on its disk, tells it; nil where nothing does.
  static func find(_ system: System, _ distribution: Distribution) -> PAM.Version? {
    dpkg(system) ?? apk(system) ?? folder(system) ?? nixStore(system) ?? ofRelease(system, distribution)
  }

  private static func dpkg(_ system: System) -> PAM.Version? {
    for path in ["/var/lib/dpkg/status", "/var/lib/opkg/status", "/usr/lib/opkg/status"] {
      guard let file = try? system.read(path, cap: 64 << 20) else { continue }
      if let found = paragraph(file.bytes, of: ["Package: libpam0g", "Package: libpam"], "Version: ") { return found }
    }
    return nil
  }

  private static func apk(_ system: System) -> PAM.Version? {
    guard let file = try? system.read("/lib/apk/db/installed", cap: 64 << 20) else { return nil }
    return paragraph(file.bytes, of: ["P:linux-pam"], "V:")
  }

  /// The version line of the paragraph that names the package.
  private static func paragraph(_ bytes: [UInt8], of heads: [String], _ label: String) -> PAM.Version? {
    let wanted = heads.map { Array($0.utf8) }
    let label = Array(label.utf8)
    var isHere = false
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      if line.isEmpty { isHere = false }
      if wanted.contains(where: line.elementsEqual) { isHere = true }
      if isHere, line.starts(with: label) {
        return PAM.Version(String(decoding: line.dropFirst(label.count), as: UTF8.self))
      }
    }
    return nil
  }

  /// Package databases that keep a folder or a file per package: `pam-1.6.1-3`, `pam-1.5.2-x86_64-1`.
  private static func folder(_ system: System) -> PAM.Version? {
    let folders = ["/var/lib/pacman/local", "/var/db/pkg/sys-libs", "/var/lib/pkgtools/packages", "/var/log/packages"]
    for folder in folders {
      for name in (try? system.list(folder)) ?? [] where name.hasPrefix("pam-") {
        if let found = PAM.Version(name.dropFirst(4)) { return found }
      }
    }
    return nil
  }

  private static func nixStore(_ system: System) -> PAM.Version? {
    for name in PAM.ModuleFolders.nixPackages(system) {
      guard let range = name.range(ofText: "linux-pam-") else { continue }
      if let found = PAM.Version(name[range.upperBound...]) { return found }
    }
    return nil
  }

  /// Releases that kept one version for their whole life.
  private static let releases: [String: PAM.Version] = [
    "debian:10": .init(1, 3, 1), "debian:11": .init(1, 4, 0), "debian:12": .init(1, 5, 2), "debian:13": .init(1, 7, 0),
    "raspbian:10": .init(1, 3, 1), "raspbian:11": .init(1, 4, 0), "raspbian:12": .init(1, 5, 2),
    "ubuntu:18": .init(1, 1, 8), "ubuntu:20": .init(1, 3, 1), "ubuntu:22": .init(1, 4, 0), "ubuntu:24": .init(1, 5, 3),
    "rhel:7": .init(1, 1, 8), "rhel:8": .init(1, 3, 1), "rhel:9": .init(1, 5, 1), "rhel:10": .init(1, 6, 1),
    "fedora:38": .init(1, 5, 2), "fedora:39": .init(1, 5, 3), "fedora:41": .init(1, 6, 1), "fedora:42": .init(1, 7, 0),
    "fedora:43": .init(1, 7, 1), "amzn:2": .init(1, 1, 8), "amzn:2023": .init(1, 5, 1), "sles:12": .init(1, 1, 8),
    "sles:15": .init(1, 3, 0),
  ]

  private static func ofRelease(_ system: System, _ distribution: Distribution) -> PAM.Version? {
    let text = system.text("/etc/os-release") ?? system.text("/usr/lib/os-release") ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("VERSION_ID=") }
    let id = (line?.dropFirst(11) ?? "").filter { $0 != "\"" && $0 != "'" }
    guard let release = id.split(separator: ".").first else { return nil }
    let family = distribution.like.contains("rhel") ? "rhel" : distribution.id
    return releases["\(distribution.id):\(release)"] ?? releases["\(family):\(release)"]
  }
}

extension StringProtocol {
  /// Where `text` stands in this string, compared byte for byte.
  func range(ofText text: String) -> Range<Index>? {
    let needle = Array(text.utf8)
    var start = startIndex
    while start < endIndex {
      if self[start...].utf8.starts(with: needle) {
        return start..<(utf8.index(start, offsetBy: needle.count))
      }
      start = index(after: start)
    }
    return nil
  }
}
