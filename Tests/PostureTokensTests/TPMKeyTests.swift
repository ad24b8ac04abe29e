import Glibc
import Posture
import PosturePlatform
import PostureTokens
import Synchronization
import TestKit
import Testing

/// The key in a TPM, against swtpm. Each test is one of the traps that the real thing sets.
@Suite(.serialized, .enabled(if: SoftwareTPM.isInstalled, "needs the packages swtpm, tpm2-tools and tpm2-openssl"))
struct TPMKeyTests {
  @Test(.timeLimit(.minutes(2))) func `a key in the TPM signs what everybody verifies`() throws {
    let tpm = try SoftwareTPM()
    let key = try TPMKey.create(tcti: tpm.tcti)
    #expect(key.protection == .tpm)
    let bytes = Array("posture".utf8)
    #expect(try key.publicKey.verifies(key.sign(bytes), of: bytes))
    let token = try TokenEncoder.encode(.presence, ["iat": 1], with: key)
    #expect(try TokenDecoder.decode(token, kinds: [.presence]).verified(by: key.publicKey).claims == ["iat": 1])
    // Another process, another context: the same key.
    #expect(try TPMKey(handle: key.handle, tcti: tpm.tcti).publicKey == key.publicKey)
    #expect { try TPMKey.create(tcti: tpm.tcti) } throws: { ($0 as? KeyError)?.code == .tpm }

    try Self.threads(key)
    try Self.reference(key, tpm)
    try Self.killed(key, tpm)
    try Self.gone(key, tpm)
  }

  /// Unlocked, 4 threads failed in 393 of 400 signatures.
  private static func threads(_ key: TPMKey) throws {
    let good = Counter()
    try together(4) { number in
      for round in 0..<25 {
        let bytes: [UInt8] = [UInt8(number), UInt8(round)]
        guard let signature = try? key.sign(bytes), key.publicKey.verifies(signature, of: bytes) else { continue }
        good.value.withLock { $0 += 1 }
      }
    }
    #expect(good.value.withLock { $0 } == 100)
  }

  private final class Counter: Sendable {
    let value = Mutex(0)
  }

  /// So many threads at once.
  private static func together(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
    guard count > 0 else { return }
    let thread = try Thread.start("tpm-\(count)") { body(count) }
    try together(count - 1, body)
    thread.join()
  }

  /// The file names the handle and the key, and nothing is made up where they do not fit.
  private static func reference(_ key: TPMKey, _ tpm: SoftwareTPM) throws {
    try TemporaryFolder.with { folder in
      let path = "\(folder)/key"
      try KeyFile.save(key, tcti: tpm.tcti, to: path)
      #expect(try KeyFile.load(path).publicKey == key.publicKey)
      #expect(try KeyFile.load(path).protection == .tpm)
      let other = try FileKey.generate().publicKey.kid
      let text: JSON = ["handle": "0x81015001", "kid": .string(other), "tcti": .string(tpm.tcti)]
      try AtomicFile.write(text.bytes, to: path)
      #expect { try KeyFile.load(path) } throws: { ($0 as? KeyError)?.code == .tpm }
      #expect { try TPMKey(handle: 0x8101_5002, tcti: tpm.tcti) } throws: { ($0 as? KeyError)?.code == .tpm }
      #expect { try TPMKey(handle: 1, tcti: tpm.tcti) } throws: { ($0 as? KeyError)?.code == .tpm }
    }
  }

  /// A key that is not persistent stays loaded when its user is killed, until the TPM has no room left.
  private static func killed(_ key: TPMKey, _ tpm: SoftwareTPM) throws {
    try TemporaryFolder.with { folder in
      try AtomicFile.write([1, 2, 3], to: "\(folder)/in")
      for round in 0..<8 {
        let environment = ["PATH=/usr/bin:/bin", "TPM2OPENSSL_TCTI=\(tpm.tcti)"]
        let pid = try Command.spawn(
          "/usr/bin/openssl",
          [
            "pkeyutl", "-provider", "tpm2", "-provider", "default", "-propquery", "?provider=tpm2", "-sign", "-inkey",
            "handle:0x81015001", "-rawin", "-digest", "sha256", "-in", "\(folder)/in", "-out", "\(folder)/out",
          ], environment, in: -1, out: -1, err: -1)
        usleep(UInt32(3_000 + round * 7_000))
        kill(pid, SIGKILL)
        _ = try Command.wait(pid)
      }
      #expect(try key.publicKey.verifies(TPMKey(handle: key.handle, tcti: tpm.tcti).sign([1]), of: [1]))
    }
  }

  private static func gone(_ key: TPMKey, _ tpm: SoftwareTPM) throws {
    tpm.stop()
    #expect { try key.sign([1]) } throws: { ($0 as? KeyError)?.code == .tpm }
    #expect { try TPMKey(handle: key.handle, tcti: tpm.tcti) } throws: { ($0 as? KeyError)?.code == .tpm }
  }

  @Test(.timeLimit(.minutes(2))) func `a key on another curve, or of another kind, is refused`() throws {
    let tpm = try SoftwareTPM()
    try TemporaryFolder.with { folder in
      for (handle, kind) in [("0x81015003", "rsa2048:rsassa-sha256")] {
        try tpm.run("tpm2_createprimary", ["-Q", "-C", "o", "-G", "ecc", "-c", "\(folder)/p"])
        try tpm.run("tpm2_flushcontext", ["-t"])
        try tpm.run(
          "tpm2_create", ["-Q", "-C", "\(folder)/p", "-G", kind, "-u", "\(folder)/u", "-r", "\(folder)/r"])
        try tpm.run("tpm2_flushcontext", ["-t"])
        try tpm.run(
          "tpm2_load", ["-Q", "-C", "\(folder)/p", "-u", "\(folder)/u", "-r", "\(folder)/r", "-c", "\(folder)/k"])
        try tpm.run("tpm2_flushcontext", ["-t"])
        try tpm.run("tpm2_evictcontrol", ["-Q", "-C", "o", "-c", "\(folder)/k", handle])
        try tpm.run("tpm2_flushcontext", ["-t"])
        #expect { try TPMKey(handle: UInt32(handle.dropFirst(2), radix: 16)!, tcti: tpm.tcti) } throws: {
          ($0 as? KeyError)?.code == .curve
        }
      }
    }
  }
}

/// A swtpm of the test's own.
final class SoftwareTPM {
  static let isInstalled: Bool = {
    let tools: [String] = ["/usr/bin/swtpm", "/usr/bin/tpm2_createprimary"]
    // Multiarch: the folder has the machine's name.
    let providers: [String] = ["x86_64", "aarch64"].map { "/usr/lib/\($0)-linux-gnu/ossl-modules/tpm2.so" }
    return tools.allSatisfy { path in access(path, X_OK) == 0 }
      && providers.contains { path in access(path, R_OK) == 0 }
  }()

  private let folder: Folder
  private let process: RunningProcess
  let tcti: String

  init() throws {
    folder = try Folder()
    // tpm2-tss takes the control port to be the next one.
    let port = try Self.twoFreePorts()
    tcti = "swtpm:host=127.0.0.1,port=\(port)"
    process = try RunningProcess(
      "/usr/bin/swtpm",
      [
        "socket", "--tpm2", "--tpmstate", "dir=\(folder.path)", "--server",
        "type=tcp,port=\(port),bindaddr=127.0.0.1", "--ctrl", "type=tcp,port=\(port + 1),bindaddr=127.0.0.1",
        "--flags", "not-need-init,startup-clear",
      ], log: folder.file("log"))
    for _ in 0..<100 {
      if (try? run("tpm2_getcap", ["properties-fixed"])) != nil { return }
      usleep(50_000)
    }
    throw ToolError(description: "swtpm does not answer")
  }

  deinit { stop() }

  func stop() { process.crash() }

  private static func twoFreePorts() throws -> UInt16 {
    for _ in 0..<100 {
      let port = try Loopback.freePort()
      if port < 65_535, (try? Loopback.listen(port + 1)) != nil { return port }
    }
    throw ToolError(description: "no two free ports side by side")
  }

  func run(_ tool: String, _ arguments: [String]) throws {
    var command = Command("/usr/bin/\(tool)", arguments)
    command.environment.append("TPM2TOOLS_TCTI=\(tcti)")
    command.timeout = 20_000
    let output = try command.run()
    guard output.status == 0 else { throw ToolError(description: String(decoding: output.err, as: UTF8.self)) }
  }

  struct ToolError: Error, CustomStringConvertible {
    let description: String
  }
}
