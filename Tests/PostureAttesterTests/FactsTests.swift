import Posture
import TestKit
import Testing

@testable import PostureAttester

@Suite struct FactsTests {
  /// Every member of everything set to something that it is not by itself.
  private static let full: ProbeResult = {
    let place = Place("/etc/shadow", line: 3)
    let cause = Cause("autologin", observed: "agetty --autologin \"pi\"", evidence: [place, Place("/etc/x")])
    var door = Door(
      "login@tty1", .entry, "pi", Opening([.passcode], [.device, .token]),
      because: [Reason("a.b", place), Reason("c")],
      cause: cause)
    door.isDefault = true
    door.behind = "volume:root"
    door.whose = .wallet
    door.proof = Door.Proof(.roundTrip, .refused, reason: "why")
    door.note = "after 10 s"
    door.counts = false
    door.oncePerBoot = true
    door.holdsSystem = true
    door.ground = Opening([.device])
    let rule = PasswordPolicy.Rule(
      enforced: true, values: [JSON.Member("minlen", 8), JSON.Member("deny", .null)], because: [Reason("r", place)])
    var result = ProbeResult()
    result.subjects = [
      Subject(
        name: "pi", uid: 1000, kind: .owner, account: .mustChange, password: .emptyHash, scheme: "yescrypt",
        place: place)
    ]
    result.doors = [door]
    result.passwordPolicy = PasswordPolicy(quality: rule, history: rule, lockout: rule)
    result.remarks = [Remark(cause, check: .disk, subject: "pi", door: "sudo")]
    result.gaps = [Gap(cause, checks: [.keyring, .disk])]
    result.biometrics = Biometrics(result: .notRun, cause: cause)
    result.isRestricted = true
    return result
  }()

  private func there(_ result: ProbeResult) throws -> ProbeResult {
    try ProbeResult(facts: FactReader(JSONParser.parse(result.json.bytes, limits: .foreign)))
  }

  @Test func `facts come back as they were`() throws {
    let back = try there(Self.full)
    #expect(back.subjects == Self.full.subjects)
    #expect(back.doors == Self.full.doors)
    #expect(back.passwordPolicy == Self.full.passwordPolicy)
    #expect(back.remarks == Self.full.remarks)
    #expect(back.gaps == Self.full.gaps)
    #expect(back.biometrics == Self.full.biometrics)
    #expect(back.isRestricted)
    #expect(try there(ProbeResult()).doors.isEmpty)
    for opening in [Opening.never, .always, nil] {
      var one = ProbeResult()
      one.doors = [Door("d", .boot, "*", opening, because: [])]
      one.doors[0].ground = opening
      #expect(try there(one).doors == one.doors)
    }
  }

  /// A member that somebody adds to the model shows up here: the full value above has to set it, and the codec to carry it.
  @Test func `the full value leaves no member as it is by itself`() {
    let plain = Door("", .boot, "", nil, because: [])
    let plainSubject = Subject(name: "", uid: nil, kind: .root, account: .active, password: .set)
    func check<Value>(_ full: Value, _ plain: Value) {
      for (one, other) in zip(Mirror(reflecting: full).children, Mirror(reflecting: plain).children) {
        #expect("\(one.value)" != "\(other.value)", "\(Value.self).\(one.label ?? "?") is as it is by itself")
      }
    }
    check(Self.full.doors[0], plain)
    check(Self.full.subjects[0], plainSubject)
    check(Self.full, ProbeResult())
    check(Self.full.remarks[0], Remark(Cause("", observed: ""), check: .passcode))
    check(Self.full.gaps[0], Gap(Cause("", observed: ""), checks: []))
    check(Self.full.doors[0].cause!, Cause("", observed: ""))
  }

  @Test func `no mutation of a line crashes the reader`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed \(seed)")
    var generator = SplitMix(seed)
    let line = ExaminationPart(name: .keyring, facts: Self.full, visited: ["/a"], listed: ["/b"]).line.dropLast()
    var taken = 0
    for _ in 0..<5_000 {
      var bytes = Array(line)
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let at = Int.random(in: 0..<bytes.count, using: &generator)
        if Bool.random(using: &generator) {
          bytes[at] = UInt8.random(in: 0...255, using: &generator)
        } else {
          bytes.remove(at: at)
        }
      }
      if (try? ExaminationPart(line: bytes)) != nil { taken += 1 }
    }
    print("still facts after mutation: \(taken) of 5000")
  }
}
