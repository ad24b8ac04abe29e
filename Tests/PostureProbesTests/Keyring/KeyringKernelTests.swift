import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// The kernel's key retention service on this machine.
@Suite(.serialized)
struct KeyringKernelTests {
  private static let isThere = KernelKeyring.roundTrip() != .missing
  private static let agent = "\(Repository.products)/posture-agent"

  /// Keys of ours that the kernel still lists.
  private static func left() -> [String] {
    let keys = (try? AtomicFile.readAny("/proc/keys")).map { String(decoding: $0, as: UTF8.self) } ?? ""
    return keys.split(separator: "\n").filter { $0.contains("posture:") }.map(String.init)
  }

  /// The kernel collects dead keys a moment later.
  private static func leftAfterCollection() -> [String] {
    for _ in 0..<100 {
      if left().isEmpty { return [] }
      usleep(20_000)
    }
    return left()
  }

  @Test(.enabled(if: isThere)) func `nothing is left after a thousand round trips`() throws {
    var samples: [Int64] = []
    for _ in 0..<1_000 {
      var began = Clock.monotonicNanoseconds
      var outcome = KernelKeyring.roundTrip()
      // Whoever is not root has a quota, which dead keys count in until they are collected.
      for _ in 0..<100 where outcome == .quota {
        usleep(20_000)
        began = Clock.monotonicNanoseconds
        outcome = KernelKeyring.roundTrip()
      }
      samples.append(Clock.monotonicNanoseconds - began)
      #expect(outcome == .works)
    }
    let median = Double(samples.sorted()[500]) / 1e6
    print("a round trip through the kernel's keyring: \(median) ms")
    #expect(median < 0.2)
    #expect(Self.leftAfterCollection() == [])
  }

  @Test(.enabled(if: isThere)) func `kinds of key, and nothing of them left`() throws {
    for _ in 0..<50 { _ = KernelKeyring.sealedTypes() }
    #expect(Self.leftAfterCollection() == [])
  }

  @Test(.enabled(if: isThere && Tools.has("/usr/bin/keyctl")), .timeLimit(.minutes(1)))
  func `keyctl can make the same kinds of key`() throws {
    func makes(_ script: String) throws -> Bool {
      try Command("/usr/bin/keyctl", ["session", "-", "/bin/sh", "-ec", script]).run().status == 0
    }
    let master = "keyctl add user posture-judge 12345678901234567890123456789012 @s"
    let types = KernelKeyring.sealedTypes()
    let encrypted = try makes("\(master); keyctl add encrypted posture-judge-e 'new user:posture-judge 32' @s")
    #expect(encrypted == types.encrypted)
    #expect(try makes("keyctl add trusted posture-judge-t 'new 32' @s") == types.trusted)
    print("key types here: encrypted \(types.encrypted), trusted \(types.trusted)")
  }

  /// Whole agents are killed, wherever they are.
  @Test(.enabled(if: isThere && access(agent, X_OK) == 0), .timeLimit(.minutes(2)))
  func `nothing is left of agents killed at random moments`() throws {
    let seed = freshSeed("kill -9")
    var generator = SplitMix(seed)
    let folder = try Folder()
    for _ in 0..<100 {
      let agent = try RunningProcess(Self.agent, ["check", "--json"], log: folder.file("log"))
      usleep(UInt32.random(in: 0...120_000, using: &generator))
      agent.crash()
    }
    #expect(Self.leftAfterCollection() == [], "seed \(seed)")
  }

  @Test func `a used up quota and a refusal are told apart`() {
    let quota = KernelKeyringDoor.door(.quota)
    #expect(quota.answer == .unknown && quota.proof == Door.Proof(.roundTrip, .refused, reason: "quotaExceeded"))
    let denied = KernelKeyringDoor.door(.denied)
    #expect(denied.proof == Door.Proof(.roundTrip, .refused, reason: "permissionDenied"))
    let works = KernelKeyringDoor.door(.works)
    #expect(works.opening == .always && !works.counts)
    #expect(KernelKeyringDoor.door(.mismatch).proof?.result == .failed)
  }

  // MARK: Refusals by the kernel itself

  private static let python = "/usr/bin/python3"
  private static let canPlay = isThere && geteuid() == 0 && Tools.has(agent, python)

  /// What the agent says of the kernel's keyring after these lines of Python have prepared the process.
  private func proof(after lines: String) throws -> JSON? {
    let script = "import ctypes, os\n\(lines)\nos.execv('\(Self.agent)', ['posture-agent', 'check', '--json'])\n"
    var command = Command(Self.python, ["-c", script])
    command.timeout = 60_000
    let json = try JSONParser.parse(try command.run().out, limits: .foreign)
    let door = json["doors"]?.array?.first { $0["door"]?.string == "kernel-keyring" }
    return door?["proof"]
  }

  @Test(.enabled(if: canPlay), .timeLimit(.minutes(1)))
  func `a used up quota`() throws {
    let found = try proof(
      after: """
        os.setresgid(54321, 54321, 54321)
        os.setresuid(54321, 54321, 54321)
        keys = ctypes.CDLL('libkeyutils.so.1', use_errno=True)
        keys.keyctl_join_session_keyring(None)
        count = 0
        while keys.add_key(b'user', b'k%d' % count, b'x', 1, -3) >= 0: count += 1
        assert ctypes.get_errno() == 122, ctypes.get_errno()
        """)
    #expect(found?["result"]?.string == "refused" && found?["reason"]?.string == "quotaExceeded")
  }

  /// A system call filter that answers add_key(2) with `error`.
  private static func filter(_ error: Int32) -> String {
    """
    number = {'x86_64': 248, 'aarch64': 217}[os.uname().machine]
    import struct
    rows = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | \(error)), (0x06, 0, 0, 0x7fff0000)]
    code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *row) for row in rows))
    class Program(ctypes.Structure): _fields_ = [('count', ctypes.c_ushort), ('rows', ctypes.c_void_p)]
    program = Program(len(rows), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0, ctypes.get_errno()
    """
  }

  @Test(.enabled(if: canPlay), .timeLimit(.minutes(1)), arguments: [EPERM, EACCES])
  func `a filter that forbids it`(error: Int32) throws {
    let found = try proof(after: Self.filter(error))
    #expect(found?["result"]?.string == "refused" && found?["reason"]?.string == "permissionDenied")
  }

  @Test(.enabled(if: canPlay), .timeLimit(.minutes(1)))
  func `a kernel without the service has no such row`() throws {
    #expect(try proof(after: Self.filter(ENOSYS)) == nil)
  }
}
