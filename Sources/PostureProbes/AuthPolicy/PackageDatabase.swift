/// What the package managers' databases say is installed, as far as they are text or names of files.
struct PackageDatabase: Sendable {
  /// The packages whose version makes a difference.
  enum Package: CaseIterable, Sendable {
    case pam
    case sshd
  }

  private var versions: [Package: PAM.Version] = [:]

  /// The database of the examined system, read once in an examination.
  static func of(_ system: System) -> PackageDatabase { system.shared { PackageDatabase(system) } }

  private init(_ system: System) {
    for path in ["/var/lib/dpkg/status", "/var/lib/opkg/status", "/usr/lib/opkg/status"] {
      read(path, name: "Package: ", version: "Version: ", \.names, system)
    }
    read("/lib/apk/db/installed", name: "P:", version: "V:", { [$0.apk] }, system)
    for folder in ["/var/lib/pacman/local", "/var/db/pkg/sys-libs", "/var/lib/pkgtools/packages", "/var/log/packages"] {
      for name in (try? system.list(folder)) ?? [] { add(folder: name) }
    }
  }

  /// The version that is installed; nil where no database tells it.
  func version(of package: Package) -> PAM.Version? { versions[package] }

  private var missing: [Package] { Package.allCases.filter { versions[$0] == nil } }

  /// A database of paragraphs, each with a line of the package's name and one of its version.
  private mutating func read(
    _ path: String, name: String, version: String, _ names: (Package) -> [String], _ system: System
  ) {
    try? system.readParagraphs(path, cap: 64 << 20) { piece in
      for package in missing {
        versions[package] = names(package).lazy.compactMap { Self.version(in: piece, name + $0, version) }.first
      }
      return !missing.isEmpty
    }
  }

  /// The version line that follows the package's name in its paragraph.
  private static func version(in piece: [UInt8], _ head: String, _ label: String) -> PAM.Version? {
    guard let start = ByteSearch.firstLine(piece, head) else { return nil }
    let lines = piece[start...].split(separator: UInt8(ascii: "\n"), maxSplits: 64, omittingEmptySubsequences: false)
    let line = lines.prefix { !$0.isEmpty }.first { $0.starts(with: label.utf8) }
    return line.flatMap { PAM.Version(String(decoding: $0.dropFirst(label.utf8.count), as: UTF8.self)) }
  }

  /// A package that has a folder or a file of its own: `pam-1.6.1-3`.
  private mutating func add(folder name: String) {
    for package in missing where name.hasPrefix(package.folder) {
      versions[package] = PAM.Version(name.dropFirst(package.folder.utf8.count))
    }
  }
}

extension PackageDatabase.Package {
  /// With dpkg and opkg.
  fileprivate var names: [String] {
    switch self {
    case .pam: ["libpam0g", "libpam"]
    case .sshd: ["openssh-server"]
    }
  }

  fileprivate var apk: String {
    switch self {
    case .pam: "linux-pam"
    case .sshd: "openssh-server"
    }
  }

  /// How the name begins where each package has a folder or a file.
  fileprivate var folder: String {
    switch self {
    case .pam: "pam-"
    case .sshd: "openssh-"
    }
  }
}
