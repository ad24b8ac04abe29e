import Glibc
import Posture
import PostureFleet
import PosturePlatform
import PostureTokens
import TestKit
import Testing

extension FaultTests {
  /// Half of them forged: another signer, another device, a changed byte, somebody else's topic.
  @Test(.enabled(if: Rig.isLong, Rig.needsLong))
  func `thousands of commands in a burst`() throws {
    let rig = try Rig()
    try rig.start()
    #expect(rig.isSettled(10_000))
    let before = try rig.usage()
    let count = 10_000
    let stranger = try FileKey.generate()
    for number in 0..<count {
      let command = try rig.command(life: 300)
      guard number % 2 == 1 else {
        rig.publish(.recheckDevice(rig.device.name), command.token)
        continue
      }
      switch number / 2 % 4 {
      case 0:
        rig.publish(
          .recheckDevice(rig.device.name), try TokenEncoder.encode(.command, command.claims.claims, with: stranger))
      case 1: rig.publish(.recheckDevice(rig.device.name), String(command.token.dropLast(4)) + "AAAA")
      case 2: rig.publish(.recheckAll, command.token)
      default: rig.publish(.recheckDevice(rig.device.name), "\(command.token)x")
      }
    }
    let counted = try waitForCounters(rig, count)
    try rig.change(open: true)
    try rig.conclude("\(count) commands, half of them forged: \(counted)", since: before)
    let verdict = try rig.record.judge(credential: rig.folder.file("credential"))
    // Each that was taken up is answered.
    #expect(verdict["nonces"] >= verdict["accepted"], "\(verdict.json.text)")
  }

  /// Every command has been counted: obeyed, refused, passed over or found to be forged.
  private func waitForCounters(_ rig: Rig, _ count: Int) throws -> String {
    let until = Clock.monotonicMilliseconds + 240_000
    var counters: JSON = .null
    while Clock.monotonicMilliseconds < until {
      counters = rig.status()?["courier"]?["counters"] ?? .null
      let names = ["obeyed", "refused", "unrefused", "invalidCommands"]
      if names.reduce(0, { $0 + (counters[$1]?.integer ?? 0) }) >= count { break }
      usleep(200_000)
    }
    let invalid = counters["invalidCommands"]?.integer ?? 0
    #expect(invalid == Int64(count / 2), "\(counters.text)")
    #expect((counters["obeyed"]?.integer ?? 0) > 0 && (counters["obeyed"]?.integer ?? 0) < 1_000)
    return ["obeyed", "refused", "unrefused", "invalidCommands"].map { "\($0) \(counters[$0]?.integer ?? 0)" }
      .joined(separator: ", ")
  }
}
