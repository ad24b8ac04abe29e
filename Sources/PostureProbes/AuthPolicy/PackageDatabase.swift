/// What the package managers' databases say is installed, as far as they are text or names of files.
enum PackageDatabase {
  /// The version of the first package found: by its names with dpkg and opkg, with apk, or by how its folder or file begins
  /// (`pam-1.6.1-3`).
  static func version(of names: [String], apk: String, folder: String, _ system: System) -> PAM.Version? {
    for path in ["/var/lib/dpkg/status", "/var/lib/opkg/status", "/usr/lib/opkg/status"] {
      guard let file = try? system.read(path, cap: 64 << 20) else { continue }
      if let found = paragraph(file.bytes, of: names.map { "Package: \($0)" }, "Version: ") { return found }
    }
    if let file = try? system.read("/lib/apk/db/installed", cap: 64 << 20),
      let found = paragraph(file.bytes, of: ["P:\(apk)"], "V:")
    {
      return found
    }
    return inFolders(folder, system)
  }

  /// The version line that follows the package's name in its paragraph.
  private static func paragraph(_ bytes: [UInt8], of heads: [String], _ label: String) -> PAM.Version? {
    for head in heads {
      guard let start = ByteSearch.firstLine(bytes, head) else { continue }
      for line in bytes[start...].split(separator: UInt8(ascii: "\n"), maxSplits: 64, omittingEmptySubsequences: false)
      {
        if line.isEmpty { break }
        if line.starts(with: label.utf8) {
          return PAM.Version(String(decoding: line.dropFirst(label.utf8.count), as: UTF8.self))
        }
      }
    }
    return nil
  }

  private static func inFolders(_ prefix: String, _ system: System) -> PAM.Version? {
    let folders = ["/var/lib/pacman/local", "/var/db/pkg/sys-libs", "/var/lib/pkgtools/packages", "/var/log/packages"]
    for folder in folders {
      for name in (try? system.list(folder)) ?? [] where name.hasPrefix(prefix) {
        if let found = PAM.Version(name.dropFirst(prefix.utf8.count)) { return found }
      }
    }
    return nil
  }
}
