import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// Nothing is ever written, neither below another root nor on this machine.
@Suite(.serialized, .enabled(if: Tools.has("/usr/bin/strace", "\(Repository.products)/posture-agent")))
struct KeyringCleanHandsTests: VolumeTrees {
  private static let calls =
    "open,openat,openat2,creat,mkdir,mkdirat,unlink,unlinkat,rmdir,rename,renameat,renameat2,link,linkat,symlink,"
    + "symlinkat,chmod,fchmod,fchmodat,chown,fchown,fchownat,lchown,truncate,ftruncate,utimensat,mknod,mknodat,"
    + "setxattr,lsetxattr,fsetxattr,mount,umount2"

  /// System calls that could change a file, as strace(1) writes them.
  private func changes(_ arguments: String...) throws -> [String] {
    let folder = try Folder()
    var command = Command(
      "/usr/bin/strace",
      ["-f", "-qq", "-e", "trace=\(Self.calls)", "-o", folder.file("trace"), "\(Repository.products)/posture-agent"]
        + arguments)
    command.timeout = 120_000
    _ = try command.run()
    let lines = String(decoding: try AtomicFile.readAny(folder.file("trace")), as: UTF8.self).split(separator: "\n")
    #expect(lines.count > 50)
    let marks = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "O_TMPFILE"]
    return lines.filter { line in
      if !line.contains(" open") { return !line.contains(" +++ ") && !line.contains(" --- ") }
      return marks.contains(where: line.contains) && !line.contains("\"/dev/null\"")
    }.map(String.init)
  }

  @Test(.timeLimit(.minutes(2))) func `below another root`() throws {
    let tree = try tree(crypttab: "root UUID=11 /etc/keys/root.key luks\n")
    try tree.write("/boot/initrd.img-6.1", InitrdBuilder.archive("etc/keys/root.key"))
    try tree.write("/home/alice/.local/share/keyrings/login.keyring", KeyringGnomeTests.plain)
    try tree.write("/home/alice/.ssh/id_rsa", "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n")
    try tree.write("/var/lib/systemd/credential.secret", "x")
    #expect(try changes("check", "--root", tree.root, "--json") == [])
  }

  @Test(.timeLimit(.minutes(2))) func `on this machine`() throws {
    #expect(try changes("check", "--json") == [])
  }
}
