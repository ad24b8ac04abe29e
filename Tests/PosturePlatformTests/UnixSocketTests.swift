import Glibc
import PosturePlatform
import TestKit
import Testing

@Suite struct UnixSocketTests {
  private func mode(_ path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
  }

  @Test func `a socket is its owner's alone, and its folder is made as asked`() throws {
    let folder = try Folder()
    let path = folder.file("run/test.sock")
    let listener = try UnixSocket.listen(path, folder: 0o711)
    #expect(mode(path) == 0o600 && mode(folder.file("run")) == 0o711)
    #expect(throws: Never.self) { _ = try UnixSocket.connect(path) }
    _ = consume listener
  }

  @Test func `a folder that is there stays as it is, and a missing one is made for nobody who did not ask`() throws {
    let folder = try Folder()
    chmod(folder.path, 0o700)
    _ = try UnixSocket.listen(folder.file("test.sock"), folder: 0o755)
    #expect(mode(folder.path) == 0o700)
    #expect(throws: SystemError.self) { _ = try UnixSocket.listen(folder.file("run/test.sock")) }
  }
}
