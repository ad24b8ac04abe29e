import Glibc
import PosturePlatform
import TestKit
import Testing

struct CommandTests {
  @Test func `output, errors and status come back`() throws {
    var command = Command("/bin/sh", ["-c", "cat; echo oops >&2; exit 3"])
    command.input = Array("hello".utf8)
    let output = try command.run()
    #expect(output.out == Array("hello".utf8))
    #expect(output.err == Array("oops\n".utf8))
    #expect(output.status == 3)
  }

  @Test func `more input than a pipe holds passes through`() throws {
    var command = Command("/bin/cat")
    command.input = [UInt8](repeating: 7, count: 1 << 20)
    #expect(try command.run().out.count == 1 << 20)
  }

  @Test func `a child that reads nothing does no harm`() throws {
    var command = Command("/bin/true")
    command.input = [UInt8](repeating: 7, count: 1 << 20)
    #expect(try command.run().status == 0)
  }

  @Test func `a missing program is told`() {
    #expect { try Command("/nonexistent/program").run() } throws: {
      guard case .start(let error)? = $0 as? Command.Failure else { return false }
      return error.isMissing
    }
  }

  @Test func `a program that hangs is ended, its children too`() {
    var command = Command("/bin/sh", ["-c", "sleep 60 & sleep 60"])
    command.timeout = 200
    let start = Clock.boottimeMilliseconds
    #expect(throws: Command.Failure.timeout) { try command.run() }
    #expect(Clock.boottimeMilliseconds - start < 5_000)
  }

  @Test func `a flood is cut off`() {
    var command = Command("/usr/bin/yes")
    command.cap = 100_000
    #expect(throws: Command.Failure.tooMuchOutput) { try command.run() }
  }

  @Test func `nothing of the environment and no signal mask is inherited`() throws {
    var command = Command("/bin/sh", ["-c", "env; grep SigBlk /proc/self/status; ls /proc/self/fd"])
    command.environment = ["ONLY=this", "PATH=/usr/bin:/bin"]
    let text = String(decoding: try command.run().out, as: UTF8.self)
    #expect(text.contains("ONLY=this") && !text.contains("HOME="))
    #expect(text.contains("SigBlk:\t0000000000000000"))
    #expect(text.split(separator: "\n").suffix(4) == ["0", "1", "2", "3"])
  }

  @Test func `a program runs while its starter does something else`() throws {
    let running = try Command("/bin/sh", ["-c", "echo early; sleep 0.2; echo late; exit 4"]).start()
    usleep(400_000)
    let output = try running.finish()
    #expect(String(decoding: output.out, as: UTF8.self) == "early\nlate\n")
    #expect(output.status == 4)
  }

  @Test func `a program that nobody waits for is ended and leaves nothing`() throws {
    let tree = try FixtureTree([:])
    let pid = "\(tree.root)/pid"
    func begin() throws {
      let running = try Command("/bin/sh", ["-c", "echo $$ > \(pid).new; mv \(pid).new \(pid); sleep 60"]).start()
      while access(pid, F_OK) != 0 { usleep(1_000) }
      withExtendedLifetime(running) {}
    }
    try begin()
    let text = try #require(try Descriptor.open(pid, O_RDONLY).readAll(cap: 16))
    let number = try #require(Int32(String(decoding: text.dropLast(), as: UTF8.self)))
    #expect(kill(number, 0) == -1 && errno == ESRCH)
  }
}
