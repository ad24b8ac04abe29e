import Glibc
import Posture
import PosturePlatform
import PostureTokens
import TestKit
import Testing

/// No hash and no key in anything that a device says, writes down or would leave in a core.
@Suite(.serialized, .enabled(if: Rig.isLong, Rig.needsLong))
struct SecretTests {
  /// Parts of the fixture's password hash.
  private static let hash = ["PostureTestsHash", "0123456789abcdef"]

  @Test func `no hash and no key in messages, logs, status and memory`() throws {
    let rig = try Rig()
    try rig.start()
    for isOpen in [true, false] {
      try rig.change(open: isOpen)
      _ = try rig.recheck()
    }
    #expect(rig.isSettled(10_000))
    let key = try keyParts(rig)
    var spoken = rig.text("courier.log") + rig.text("attester.log") + (rig.status()?.text ?? "")
    for line in rig.text("record").split(separator: "\n") {
      spoken += line
      let token = line.split(separator: " ").last ?? ""
      spoken += BrokerRecord.claims(token)?.text ?? ""
    }
    #expect(spoken.contains("alice") && spoken.contains("edge-1"))
    for secret in Self.hash + key { #expect(!spoken.contains(secret)) }
    let attester = try memory(try #require(rig.attester).pid)
    let courier = try memory(try #require(rig.courier).pid)
    print("searched \(spoken.utf8.count) bytes of messages and logs, \(attester.count + courier.count) of memory")
    // The search finds what is there.
    #expect(contains(attester, "edge-1") && contains(courier, "edge-1"))
    // Not "0123456789abcdef", which every program that writes hexadecimal has in it.
    #expect(!contains(attester, Self.hash[0]) && !contains(courier, Self.hash[0]))
    for secret in key { #expect(!contains(courier, secret)) }
    try dieWithoutCore(rig)
    #expect(!(rig.text("courier.log") + rig.text("attester.log")).contains("crashed"))
  }

  @Test func `the courier's user reads neither the key nor the journal nor the shadow file`() throws {
    let rig = try Rig()
    try rig.start()
    let state = "\(rig.folder.path)/state/attester"
    for path in ["\(state)/key.pem", "\(state)/journal.db", "\(state)/marks", rig.tree.place("/etc/shadow")] {
      #expect(access(path, R_OK) == 0, "\(path)")
      #expect(try rig.runAsCourier("/bin/cat", path).status != 0, "\(path)")
    }
    // The same way what is its own can be read.
    #expect(try rig.runAsCourier("/bin/cat", "\(rig.folder.path)/state/courier/bundle.json").status == 0)
  }

  /// Lines of the signing key's file.
  private func keyParts(_ rig: Rig) throws -> [String] {
    let text = String(decoding: try AtomicFile.readAny("\(rig.folder.path)/state/attester/key.pem"), as: UTF8.self)
    return text.split(separator: "\n").dropFirst().dropLast().filter { $0.utf8.count > 20 }.map(String.init)
  }

  /// What a core of the process would hold.
  private func memory(_ pid: pid_t) throws -> [UInt8] {
    let maps = String(decoding: try AtomicFile.readAny("/proc/\(pid)/maps"), as: UTF8.self)
    let file = try Descriptor.open("/proc/\(pid)/mem", O_RDONLY)
    var bytes: [UInt8] = []
    for line in maps.split(separator: "\n") {
      let words = line.split(separator: " ")
      let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
      guard words[1].hasPrefix("rw"), ends.count == 2, ends[1] - ends[0] < 256 << 20 else { continue }
      lseek(file.number, off_t(truncatingIfNeeded: ends[0]), SEEK_SET)
      var left = Int(ends[1] - ends[0])
      while left > 0, let chunk = try? file.read(min(left, 1 << 20)), !chunk.isEmpty {
        bytes += chunk
        left -= chunk.count
      }
    }
    return bytes
  }

  private func contains(_ bytes: [UInt8], _ text: String) -> Bool {
    let part = Array(text.utf8)
    return bytes.withUnsafeBytes { whole in
      var from = 0
      while let at = whole[from...].firstIndex(of: part[0]), at + part.count <= whole.count {
        if memcmp(whole.baseAddress! + at, part, part.count) == 0 { return true }
        from = at + 1
      }
      return false
    }
  }

  /// The kernel writes no core of either, whatever is done with one.
  private func dieWithoutCore(_ rig: Rig) throws {
    for process in [try #require(rig.attester), try #require(rig.courier)] {
      let limits = String(decoding: try AtomicFile.readAny("/proc/\(process.pid)/limits"), as: UTF8.self)
      let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
      #expect(core.split(separator: " ").dropFirst(4).first == "0", "\(core)")
      // What belongs to root here is a process that cannot be dumped (prctl(2), PR_SET_DUMPABLE).
      var status = stat()
      #expect(stat("/proc/\(process.pid)/mem", &status) == 0 && status.st_uid == 0)
      process.send(SIGSEGV)
      #expect(process.wait(2_000) == 128 + SIGSEGV)
    }
  }
}
