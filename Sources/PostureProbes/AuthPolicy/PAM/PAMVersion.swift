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
    PackageDatabase.of(system).version(of: .pam) ?? nixStore(system)
      ?? distribution.release.flatMap { ofRelease($0, distribution) }
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
    "sles:15": .init(1, 3, 0), "opensuse-leap:15": .init(1, 3, 0),
  ]

  private static func ofRelease(_ release: String, _ distribution: Distribution) -> PAM.Version? {
    // Oracle's says that it is like Fedora, and means Red Hat's of the same number.
    let isRedHat = distribution.like.contains("rhel") || distribution.id == "ol"
    let family = isRedHat ? "rhel" : distribution.id
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
