/// What the package managers' databases say is installed, as far as they are text or names of files.
struct PackageDatabase: Sendable {
  /// The packages that make a difference.
  enum Package: CaseIterable, Sendable {
    case pam
    case sshd
    case sudo
    case u2f
    case polkit
  }

  private struct Entry {
    var version: PAM.Version?
    /// dpkg remembers packages whose configuration was left behind.
    var isRemoved = false
    /// As Debian names it.
    var isDebians = false
  }

  private var entries: [Package: Entry] = [:]

  /// Those with a folder or a file for each package.
  private static let folders = [
    "/var/lib/pacman/local", "/var/db/pkg/sys-libs", "/var/db/pkg/sys-auth", "/var/lib/pkgtools/packages",
    "/var/log/packages",
  ]

  /// The database of the examined system, read once in an examination.
  static func of(_ system: System) -> PackageDatabase { system.shared { PackageDatabase(system) } }

  private init(_ system: System) {
    for path in ["/var/lib/dpkg/status", "/var/lib/opkg/status", "/usr/lib/opkg/status"] {
      read(path, name: "Package: ", version: "Version: ", \.names, system)
    }
    read("/lib/apk/db/installed", name: "P:", version: "V:", { [$0.apk] }, system)
    for folder in Self.folders {
      for name in (try? system.list(folder)) ?? [] { add(folder: name) }
    }
  }

  /// The version that is installed; nil where no database tells it.
  func version(of package: Package) -> PAM.Version? { entries[package]?.version }

  /// Whether a database has the package, in a version that can be read or not.
  func knows(_ package: Package) -> Bool { entries[package] != nil }

  /// Whether a database knows the package and says that it is no longer there.
  func isRemoved(_ package: Package) -> Bool { entries[package]?.isRemoved ?? false }

  /// libpam is the one that Debian makes.
  var hasDebiansPAM: Bool { entries[.pam].map { $0.isDebians && !$0.isRemoved } ?? false }

  private var missing: [Package] { Package.allCases.filter { entries[$0] == nil } }

  /// A database of paragraphs, each with a line of the package's name and one of its version.
  private mutating func read(
    _ path: String, name: String, version: String, _ names: (Package) -> [String], _ system: System
  ) {
    let wanted = missing.flatMap { package in names(package).map { (line: Array("\($0)\n".utf8), package: package) } }
    try? system.readParagraphs(path, cap: 64 << 20) { piece in
      for start in ByteSearch.lines(piece, beginning: name) {
        guard let found = wanted.first(where: { piece[start...].starts(with: $0.line) }),
          entries[found.package] == nil
        else { continue }
        entries[found.package] = Self.entry(piece[start...], version)
        entries[found.package]?.isDebians = found.line == Self.debiansPAM
      }
      return !missing.isEmpty
    }
  }

  private static let debiansPAM = Array("libpam0g\n".utf8)

  /// What the lines say that follow the package's name in its paragraph.
  private static func entry(_ rest: ArraySlice<UInt8>, _ label: String) -> Entry {
    var entry = Entry()
    for line in rest.split(separator: 0x0A, maxSplits: 64, omittingEmptySubsequences: false) {
      if line.isEmpty { break }
      if line.starts(with: label.utf8), entry.version == nil {
        entry.version = PAM.Version(String(decoding: line.dropFirst(label.utf8.count), as: UTF8.self))
      }
      if line.starts(with: "Status: ".utf8) { entry.isRemoved = !line.suffix(10).elementsEqual(" installed".utf8) }
    }
    return entry
  }

  /// A package that has a folder or a file of its own: `pam-1.6.1-3`.
  private mutating func add(folder name: String) {
    for package in missing {
      guard let start = package.folders.first(where: name.hasPrefix),
        let version = PAM.Version(name.dropFirst(start.utf8.count))
      else { continue }
      entries[package] = Entry(version: version)
    }
  }
}

extension PackageDatabase.Package {
  /// With dpkg and opkg.
  fileprivate var names: [String] {
    switch self {
    case .pam: ["libpam0g", "libpam"]
    case .sshd: ["openssh-server"]
    case .sudo: ["sudo"]
    case .u2f: ["libpam-u2f"]
    case .polkit: ["polkitd", "policykit-1"]
    }
  }

  fileprivate var apk: String {
    switch self {
    case .pam: "linux-pam"
    case .sshd: "openssh-server"
    case .sudo: "sudo"
    case .u2f: "pam-u2f"
    case .polkit: "polkit"
    }
  }

  /// How the name begins where each package has a folder or a file.
  fileprivate var folders: [String] {
    switch self {
    case .pam: ["pam-"]
    case .sshd: ["openssh-"]
    case .sudo: ["sudo-"]
    case .u2f: ["pam-u2f-", "pam_u2f-"]
    case .polkit: ["polkit-"]
    }
  }
}
