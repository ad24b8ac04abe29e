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
    for _ in 0..<1_000 {
      var outcome = KernelKeyring.roundTrip()
      // Whoever is not root has a quota, which dead keys count in until they are collected.
      for _ in 0..<100 where outcome == .quota {
        usleep(20_000)
        outcome = KernelKeyring.roundTrip()
      }
      #expect(outcome == .works)
    }
    #expect(Self.leftAfterCollection() == [])
  }

  @Test(.enabled(if: isThere)) func `kinds of key, and nothing of them left`() throws {
    for _ in 0..<50 { _ = KernelKeyring.sealedTypes() }
    #expect(Self.leftAfterCollection() == [])
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
}
