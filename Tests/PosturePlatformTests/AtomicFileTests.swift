import Glibc
import PosturePlatform
import TestKit
import Testing

struct AtomicFileTests {
  @Test func `a file is replaced whole, 0600, and nothing else stays`() throws {
    try TemporaryFolder.with { folder in
      let path = "\(folder)/state"
      try AtomicFile.write([1, 2, 3], to: path)
      try AtomicFile.write([4], to: path)
      #expect(try AtomicFile.read(path) == [4])
      var status = stat()
      #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600)
      let names = try Command("/bin/ls", ["-A", folder]).run().out
      #expect(names == Array("state\n".utf8))
    }
  }

  @Test func `a file that others can change, and no file at all, are refused`() throws {
    try TemporaryFolder.with { folder in
      let path = "\(folder)/state"
      try AtomicFile.write([1], to: path)
      chmod(path, 0o620)
      #expect(throws: SystemError.self) { try AtomicFile.read(path) }
      chmod(path, 0o600)
      #expect(throws: SystemError.self) { try AtomicFile.read(path, cap: 0) }
      #expect(throws: SystemError.self) { try AtomicFile.read(folder) }
      mkfifo("\(folder)/pipe", 0o600)
      #expect(throws: SystemError.self) { try AtomicFile.read("\(folder)/pipe") }
    }
  }
}
