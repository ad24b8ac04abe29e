import Glibc
import Posture
import PosturePlatform
@testable import PostureTokens
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
    #expect { try TPMKey.create(handle: key.handle, tcti: tpm.tcti) } throws: { ($0 as? KeyError)?.code == .tpm }

    try Self.threads(key)
    try Self.reference(key, tpm)
    try Self.another(key, tpm)
    try Self.restarted(key, tpm)
    try Self.killed(key, tpm)
    try Self.gone(key, tpm)
  }

  /// Unlocked, 4 threads failed in 393 of 400 signatures.
  private static func threads(_ key: TPMKey) throws {
    let good = Mutex(0)
    try Together.run(4) { number in
      for round in 0..<25 {
        let bytes: [UInt8] = [UInt8(number), UInt8(round)]
        guard let signature = try? key.sign(bytes), key.publicKey.verifies(signature, of: bytes) else { continue }
        good.withLock { $0 += 1 }
      }
    }
    #expect(good.withLock { $0 } == 100)
  }

  /// The file names the handle and the key, and nothing is made up where they do not fit.
  private static func reference(_ key: TPMKey, _ tpm: SoftwareTPM) throws {
    try TemporaryFolder.with { folder in
      let path = "\(folder)/key"
      try TPMReference(key, tcti: tpm.tcti).save(to: path)
      #expect(try KeyFile.read(path).open().publicKey == key.publicKey)
      #expect(try KeyFile.read(path).protection == .tpm)
      let other = try FileKey.generate().publicKey.kid
      let text: JSON = ["handle": "0x81015001", "kid": .string(other), "tcti": .string(tpm.tcti)]
      try AtomicFile.write(text.bytes, to: path)
      #expect { try KeyFile.read(path).open() } throws: { ($0 as? KeyError)?.code == .tpm }
      #expect { try TPMKey(handle: 0x8101_5002, tcti: tpm.tcti) } throws: { ($0 as? KeyError)?.code == .tpm }
      #expect { try TPMKey(handle: 1, tcti: tpm.tcti) } throws: { ($0 as? KeyError)?.code == .tpm }
    }
  }

  /// What is at a handle is never taken over: its numbers are nobody's any more. The next key goes beside it.
  private static func another(_ key: TPMKey, _ tpm: SoftwareTPM) throws {
    let other = try TPMKey.create(tcti: tpm.tcti)
    #expect(other.handle == key.handle + 1 && other.publicKey != key.publicKey)
    try TPMKey.remove(TPMReference(other, tcti: tpm.tcti))
    #expect { try TPMKey(handle: other.handle, tcti: tpm.tcti) } throws: { ($0 as? KeyError)?.code == .tpm }
    #expect(try key.publicKey.verifies(key.sign([2]), of: [2]))
  }

  /// The connection breaks and is made again.
  private static func restarted(_ key: TPMKey, _ tpm: SoftwareTPM) throws {
    tpm.stop()
    #expect { try key.sign([3]) } throws: { ($0 as? KeyError)?.code == .tpm }
    try tpm.start()
    #expect(try key.publicKey.verifies(key.sign([3]), of: [3]))
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

  /// With `?provider=tpm2` OpenSSL makes do with whatever has the key: here with a file.
  @Test(.timeLimit(.minutes(2))) func `a key that software holds is not taken for one of the TPM`() throws {
    let tpm = try SoftwareTPM()
    let real = try TPMKey.create(tcti: tpm.tcti)
    try TemporaryFolder.with { folder in
      try FileKey.generate().save("\(folder)/key.pem")
      #expect { try TPMLibrary(uri: "file:\(folder)/key.pem") } throws: {
        ($0 as? KeyError)?.detail?.contains("no key of the TPM") == true
      }
    }
    #expect(try real.publicKey.verifies(real.sign([1]), of: [1]))
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
