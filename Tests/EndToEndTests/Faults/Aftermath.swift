import Glibc
import Posture
import PostureFleet
import PosturePlatform
import PostureTokens
import TestKit
import Testing

/// What has to hold after a fault, whatever it was.
extension Rig {
  struct Usages {
    var attester: Usage
    var courier: Usage
  }

  /// What both processes use, once they have come to rest.
  func usage() throws -> Usages {
    usleep(Rig.rest)
    guard let attester = attester.flatMap({ Usage(of: $0.pid) }), let courier = courier.flatMap({ Usage(of: $0.pid) })
    else { throw silence("a process is missing") }
    return Usages(attester: attester, courier: courier)
  }

  private static let rest: UInt32 = 300_000
  /// Kilobytes by which a process may have grown: what an allocator keeps for the next time.
  private static let growth = 6_144

  /// Checks all of it with the help of others, and says in one line what was done.
  /// - Parameters:
  ///   - before: what both used before; nil where a process is not the one it was.
  ///   - hasOperators: the operators' listener can be reached from here, and the device's date is theirs.
  ///   - date: seconds that the device's date is ahead.
  func conclude(_ fault: String, since before: Usages?, hasOperators: Bool = true, date: Int64 = 0) throws {
    #expect(isSettled(90_000), "\(silence("not settled after \(fault)"))")
    let report = try recheck(date: date, challenge: challenge)
    let expected = isOpen ? "fail" : "pass"
    #expect(report["verdict"]?.string == expected)
    #expect(isSettled(20_000))
    let verdict = try record.judge(credential: folder.file("credential"))
    #expect(verdict.faults.isEmpty, "\(verdict.json.text)")
    #expect(verdict["events"] > 0 && verdict["chains"] == 1)
    #expect(verdict["newest"] <= verdict["events"], "every event that a report names has come")
    #expect(keptPresence?["state"]?.string == "online" && keptPresence?["conn"]?.integer == verdict["connections"])
    if hasOperators { try checkWithOperators(expected) }
    var lines = ["\(fault):"]
    lines.append(
      "\(verdict.count("event")) event messages, \(verdict["events"]) events, \(verdict.count("repeated")) repeated,")
    lines.append("\(verdict["reports"]) reports, \(verdict["connections"]) connections, verdict \(expected);")
    if let before { lines += compare(before, try usage()) }
    lines.append(try endsWell(verdict))
    for file in ["attester.log", "courier.log"] {
      #expect(!text(file).contains("Sanitizer") && !text(file).contains("Fatal error"), "\(text(file).suffix(4_000))")
    }
    print(lines.joined(separator: " "))
  }

  /// Connected, and the broker has every event.
  func isSettled(_ milliseconds: Int64) -> Bool {
    let until = Clock.monotonicMilliseconds + milliseconds
    while Clock.monotonicMilliseconds < until {
      if let status = status(), status["courier"]?["connected"] == true, status["chain"]?["waiting"]?.integer == 0,
        status["chain"]?["eseq"]?.integer ?? 0 > 0, keptPresence?["state"]?.string == "online"
      {
        return true
      }
      usleep(100_000)
    }
    return false
  }

  var keptPresence: JSON? {
    hand.kept(Topic(home.site, .presence(device.name)).text, 0).flatMap { BrokerRecord.claims($0[...]) }
  }

  var challenge: String? { keptPresence?["chal"]?.string }

  /// posturectl verifies what the broker keeps and comes to the same verdict.
  private func checkWithOperators(_ expected: String) throws {
    var command = Command(
      Path.join(Repository.products, "posturectl"), ["show", device.name.description, "--json", "--home", home.folder])
    command.timeout = 30_000
    let output = try command.run()
    #expect(
      output.status == (expected == "pass" ? 0 : 1),
      "\(String(decoding: output.out + output.err, as: UTF8.self).prefix(1_500))")
  }

  private func compare(_ before: Usages, _ after: Usages) -> [String] {
    [("attester", before.attester, after.attester), ("courier", before.courier, after.courier)].map { name, old, new in
      #expect(new.descriptors <= old.descriptors, "\(name): \(old) before, \(new) after")
      #expect(new.threads <= old.threads, "\(name): \(old) before, \(new) after")
      // A sanitizer keeps what was freed, to know its use.
      if !Rig.isSanitized {
        #expect(new.residentKilobytes - old.residentKilobytes <= Rig.growth, "\(name): \(old) before, \(new) after")
      }
      return "\(name) \(old.residentKilobytes) to \(new.residentKilobytes) KB, \(new.descriptors) descriptors;"
    }
  }

  /// SIGTERM: offline is what the broker keeps, within a second.
  private func endsWell(_ verdict: BrokerRecord.Verdict) throws -> String {
    let took = try #require(stopCourier())
    #expect(took < 1_000)
    let topic = Topic(home.site, .presence(device.name)).text
    let kept = hand.kept(topic, 2_000) { BrokerRecord.claims($0[...])?["state"]?.string == "offline" }
    let presence = kept.flatMap { BrokerRecord.claims($0[...]) }
    #expect(presence?["state"]?.string == "offline" && presence?["conn"]?.integer == verdict["connections"])
    return "ended in \(took) ms"
  }
}
