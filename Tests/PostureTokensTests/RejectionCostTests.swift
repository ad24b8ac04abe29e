import Glibc
import Posture
import PosturePlatform
import PostureTokens
import TestKit
import Testing

/// What a refused input costs, in a process of its own whose memory cannot grow.
@Suite struct RejectionCostTests {
  @Test func `a refused input needs no memory beyond its own`() async {
    await #expect(processExitsWith: .success) {
      let big = try HostileInputs.big(4 << 20)
      let small = try HostileInputs.small()
      // Tables that are made once, and this thread's heap.
      for input in small { _ = try? TokenDecoder.decode(input, kinds: TokenKind.allCases) }
      try HostileInputs.allowMore(512 << 10)
      for input in big { precondition((try? TokenDecoder.decode(input, kinds: TokenKind.allCases)) == nil) }
      // Nor is anything of it kept.
      for _ in 0..<500 {
        for input in small { precondition((try? TokenDecoder.decode(input, kinds: TokenKind.allCases)) == nil) }
      }
    }
  }

  /// The limit is one: what goes beyond it ends the process.
  @Test func `a process that may not grow does not`() async {
    await #expect(processExitsWith: .failure) {
      try HostileInputs.allowMore(512 << 10)
      let bytes = [UInt8](repeating: 1, count: 32 << 20)
      precondition(bytes.count > 0)
    }
  }
}

private enum HostileInputs {
  private static func letters(_ text: String, _ count: Int) -> [UInt8] {
    let pattern = Array(text.utf8)
    return [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
      for at in 0..<count { bytes[at] = pattern[at % pattern.count] }
      filled = count
    }
  }

  /// Each as large as `size`, and of another shape.
  static func big(_ size: Int) throws -> [[UInt8]] {
    let head = Array(Base64URL.encode(Array(#"{"alg":"ES256","typ":"eat+jwt","kid":""#.utf8)).utf8)
    let dot = UInt8(ascii: ".")
    return [
      letters("A", size), letters(".", size), letters("A.", size), letters("{", size), letters("\u{FF}", size),
      [dot] + letters("A", size), letters("A", size) + [dot, dot], head + letters("A", size) + [dot, 65, dot, 65],
      head + [dot] + letters("W1tb", size) + [dot, 65],
    ]
  }

  /// Within the limits of size, and wrong in what is looked at last.
  static func small() throws -> [[UInt8]] {
    let good = try Vector.load("accept/report").body
    let parts = good.split(separator: UInt8(ascii: "."))
    let dot = UInt8(ascii: ".")
    return [
      good.dropLast() + [UInt8(ascii: "=")], Array(parts[0]) + [dot] + letters("A", 40_001) + [dot] + Array(parts[2]),
      Array(parts[0]) + [dot] + letters("A", 48_000) + [dot] + Array(parts[2]), Array(good.dropLast(10)),
      letters("A", 49_000), letters("e30.", 48_000),
    ]
  }

  /// The address space may grow by so many bytes from now on.
  static func allowMore(_ bytes: Int) throws {
    let text = String(decoding: try AtomicFile.readAny("/proc/self/statm"), as: UTF8.self)
    let pages = Int(text.split(separator: " ")[0])!
    var limit = rlimit()
    limit.rlim_cur = rlim_t(pages * sysconf(Int32(_SC_PAGESIZE)) + bytes)
    limit.rlim_max = limit.rlim_cur
    precondition(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
  }
}
