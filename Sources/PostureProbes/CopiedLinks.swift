import Glibc
import PosturePlatform

/// Links in a copy of a tree that was made without any (git's core.symlinks=false, a FAT medium, an archive that was
/// unpacked by a simple program): each is a small file whose text is the target.
///
/// No real file is a bare path without a line end, so only a tree where a file stands in a link's place is read this way.
enum CopiedLinks {
  /// Places where systems have links, and hardly anything else.
  private static let places = [
    "bin", "sbin", "lib", "lib64", "var/run", "etc/mtab", "sbin/init", "usr/sbin/init", "bin/sh", "bin/login",
    "sbin/getty", "etc/localtime", "etc/os-release", "etc/systemd/system", "etc/systemd/system/default.target",
    "usr/lib/systemd/system/default.target", "lib/systemd/system/default.target",
    "usr/lib/systemd/system/autovt@.service", "etc/systemd/system/display-manager.service", "etc/pam.d", "etc/static",
    "var/service",
  ]
  /// Folders of units, each with folders of nothing but links (`multi-user.target.wants`).
  private static let unitFolders = [
    "etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system", "etc/systemd/user", "usr/lib/systemd/user",
  ]
  /// Folders that hold links, among files that are no bare path: units, stacks, scripts.
  private static let folders =
    [
      "dev/disk/by-uuid", "dev/disk/by-partuuid", "dev/disk/by-label", "etc/pam.d", "etc/systemd/system",
      "etc/alternatives", "etc/service", "var/service", "etc/runit/runsvdir/default", "etc/rc.d",
    ] + ["sysinit", "boot", "default"].map { "etc/runlevels/\($0)" }
    + "S12345".flatMap { ["etc/rc\($0).d", "etc/rc.d/rc\($0).d"] }
  private static let longest = 255

  /// Whether the tree is such a copy. One real link says that it is none.
  static func areIn(_ root: Int32) -> Bool {
    for place in places {
      if let isCopy = isCopy(root, place) { return isCopy }
    }
    let wants = unitFolders.flatMap { folder in
      names(root, folder).filter { $0.ends(with: ".wants") || $0.ends(with: ".requires") }.map { "\(folder)/\($0)" }
    }
    for folder in folders + wants {
      for name in names(root, folder) {
        if let isCopy = isCopy(root, "\(folder)/\(name)") { return isCopy }
      }
    }
    return false
  }

  private static func names(_ root: Int32, _ folder: String) -> [String] {
    guard let open = try? Descriptor(owning: PathWalk(root: root).open(folder, O_RDONLY | O_DIRECTORY | O_NONBLOCK))
    else { return [] }
    return (try? Directory.names(open, folder, cap: 4096)) ?? []
  }

  /// nil where nothing is there, or what has another reason to be no link.
  private static func isCopy(_ root: Int32, _ path: String) -> Bool? {
    let parts = path.split(separator: "/")
    let parent = parts.dropLast().joined(separator: "/")
    guard let fd = try? PathWalk(root: root).open(parent, Descriptor.pathOnly | O_DIRECTORY) else { return nil }
    let folder = Descriptor(owning: fd)
    let name = String(parts.last ?? "")
    if PathWalk.link(folder.number, name) != nil { return false }
    return target(folder.number, name) == nil ? nil : true
  }

  /// The target that a small file stands for; nil where it stands for itself.
  static func target(_ folder: Int32, _ name: String) -> String? {
    var status = stat()
    guard !name.isEmpty, fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFREG,
      (1...longest).contains(Int(status.st_size))
    else { return nil }
    let fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard fd >= 0 else { return nil }
    let file = Descriptor(owning: fd)
    guard let bytes = try? file.readAll(cap: longest), bytes.allSatisfy({ $0 > 32 && $0 != 127 }) else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    return text.hasPrefix("/") || text.hasPrefix("../") || isBeside(text, folder, name) ? text : nil
  }

  private static let units = [".service", ".target", ".socket", ".timer", ".path"]

  /// A word could be anything: as a link it leads to something that is there, or names a unit where a unit should be.
  private static func isBeside(_ text: String, _ folder: Int32, _ name: String) -> Bool {
    guard text != name else { return false }
    return units.contains { text.ends(with: $0) && name.ends(with: $0) }
      || faccessat(folder, text, F_OK, AT_SYMLINK_NOFOLLOW) == 0
  }
}
