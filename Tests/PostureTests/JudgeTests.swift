import Posture
import Testing

struct JudgeTests {
  private let alice = Subject(name: "alice", uid: 1000, kind: .owner, account: .active, password: .set)
  private let root = Subject(name: "root", uid: 0, kind: .root, account: .active, password: .locked)

  private func facts(_ subjects: [Subject], _ doors: [Door]) -> ProbeResult {
    var facts = ProbeResult()
    facts.subjects = subjects
    facts.doors = doors
    return facts
  }

  private func door(
    _ name: String, _ class: Door.Class, _ subject: String, _ opening: Opening?, line: Int = 1
  ) -> Door {
    Door(name, `class`, subject, opening, because: [Reason("test", file: "/etc/x", line: line)])
  }

  private func judge(_ subjects: [Subject], _ doors: [Door], _ policy: Policy = .entry) -> Evidence {
    Judge.evidence(of: facts(subjects, doors), under: policy)
  }

  @Test func `a machine that asks passes, without a finding above info`() {
    let evidence = judge(
      [alice, root],
      [door("login@console", .entry, "alice", .passcode), door("login@console", .entry, "root", .never)])
    #expect(evidence.verdict == .pass)
    #expect(evidence[.ownerAuthentication]?.result == .success)
    #expect(evidence[.passcode]?.result == .success)
    #expect(evidence.findings.isEmpty)
  }

  @Test func `an open row fails, an unknown one is not run, no row is absent`() {
    let open = door("login@tty1", .entry, "alice", .always)
    let unknown = door("login@tty2", .entry, "alice", nil)
    #expect(judge([alice], [open, unknown])[.ownerAuthentication]?.result == .fail)
    #expect(judge([alice], [unknown])[.ownerAuthentication]?.result == .notRun)
    #expect(judge([alice], [unknown]).verdict == .unknown)
    #expect(judge([alice], [])[.ownerAuthentication]?.result == .absent)
    #expect(judge([alice], []).verdict == .unknown)
  }

  @Test func `an unknown verdict has a finding, also where nothing was found that is required`() {
    let evidence = judge([alice], [])
    #expect(evidence.findings.map(\.code) == ["unknownDoor"])
    #expect(evidence.findings.map(\.severity) == [.info])
    #expect(evidence[.ownerAuthentication]?.findings == ["f1"])
    #expect(evidence[.keyring]?.findings == [])
  }

  @Test func `closed is a row that opens nothing, and all closed is worth a finding`() {
    let evidence = judge([alice], [door("login@console", .entry, "alice", .never)])
    #expect(evidence[.ownerAuthentication]?.result == .success)
    #expect(evidence.findings.map(\.code) == ["noWayIn"])
    #expect(evidence.findings.first?.severity == .medium)
  }

  @Test func `that nobody gets in is not said where others may`() {
    var whole = facts([alice], [door("login@console", .entry, "alice", .never)])
    func codes() -> [String] { Judge.evidence(of: whole, under: .entry).findings.map(\.code) }
    for check in [CheckName.ownerAuthentication, .remoteEntry] {
      whole.gaps = [Gap(Cause("notModelled", observed: "an unknown display manager"), checks: [check])]
      #expect(codes() == ["notModelled"])
    }
    whole.gaps = []
    whole.restrict(to: ["alice"])
    #expect(codes().isEmpty)
  }

  @Test func `of two rows for one door and subject the weaker answer stands`() {
    for (openings, wanted) in [
      ([.passcode, nil], nil), ([.never, .passcode], .passcode), ([nil, .always], .always),
      ([.passcode, Opening([.token])], Opening([.passcode], [.token])),
    ] as [([Opening?], Opening?)] {
      for order in [openings, openings.reversed()] {
        let evidence = judge([alice], order.map { door("home:alice", .secret, "alice", $0) })
        #expect(evidence.doors.map(\.opening) == [wanted])
      }
    }
  }

  @Test func `one root cause is one finding that every check names`() {
    var open = [door("login@tty1", .entry, "alice", .always), door("sudo", .elevation, "alice", .always)]
    for index in open.indices { open[index].cause = Cause("emptyPassword", observed: "x") }
    var bare = alice
    bare.password = .empty
    bare.place = Place("/etc/x", line: 1)
    let evidence = judge([bare], open)
    #expect(evidence.findings.count == 1)
    #expect(evidence[.ownerAuthentication]?.findings == ["f1"])
    #expect(evidence[.elevation]?.findings == ["f1"])
    #expect(evidence[.passcode]?.findings == ["f1"])
    #expect(evidence.findings.first?.severity == .high)
  }

  @Test func `severity follows what the policy requires`() {
    let doors = [door("login@console", .entry, "alice", .passcode), door("sudo", .elevation, "alice", .always)]
    #expect(judge([alice], doors).findings.first?.severity == .medium)
    #expect(judge([alice], doors, .hardened).findings.first { $0.code == "openElevation" }?.severity == .high)
    #expect(judge([alice], doors).summary(.entry) == "pass (entry); not required: elevation fail")
  }

  @Test func `a door that opens once per boot is behind the encrypted volume`() {
    var autologin = door("graphical@gdm", .entry, "alice", .always)
    autologin.oncePerBoot = true
    let encrypted = door("volume:root", .secret, "*", .passcode)
    let evidence = judge([alice], [autologin, encrypted])
    #expect(evidence[.ownerAuthentication]?.result == .success)
    #expect(evidence.doors.first?.behind == "volume:root")
    #expect(evidence.findings.map(\.code) == ["proofOncePerBoot"])
    #expect(judge([alice], [autologin, door("volume:root", .secret, "*", .always)]).verdict == .fail)
    #expect(judge([alice], [autologin, door("volume:root", .secret, "*", nil)]).verdict == .unknown)
    #expect(judge([alice], [autologin, door("volume:root", .secret, "*", Opening([.device]))]).verdict == .fail)
  }

  @Test func `every volume that the system lies on has to be open before it starts`() {
    var autologin = door("graphical@gdm", .entry, "alice", .always)
    autologin.oncePerBoot = true
    func entry(_ openings: Opening?...) -> CheckResult? {
      let volumes = openings.enumerated().map { index, opening in
        var door = door("volume:\(index)", .secret, "*", opening)
        door.holdsSystem = true
        return door
      }
      // A name alone holds nothing.
      return judge([alice], [autologin, door("volume:root", .secret, "*", .passcode)] + volumes)[.ownerAuthentication]?
        .result
    }
    #expect(entry(Opening([.device]), .passcode) == .success)
    #expect(entry(.passcode, nil) == .success)
    #expect(entry(Opening([.device]), nil) == .notRun)
    #expect(entry(Opening([.device]), Opening([.device])) == .fail)
    #expect(entry(.always) == .fail)
  }

  @Test func `an intended door stands as long as it leads nowhere`() {
    var policy = Policy.entry
    policy.intended = [.init(door: "graphical@lightdm", subject: "kiosk", why: "public")]
    let kiosk = Subject(name: "kiosk", uid: 1001, kind: .owner, account: .active, password: .locked)
    let open = door("graphical@lightdm", .entry, "kiosk", .always)
    #expect(judge([kiosk], [open], policy).verdict == .pass)
    #expect(judge([kiosk], [open]).verdict == .fail)
    let further = judge([kiosk], [open, door("sudo", .elevation, "kiosk", .always)], policy)
    #expect(further.verdict == .fail)
    #expect(further.findings.first?.code == "intendedDoorLeadsToRoot")
    for (name, counts, verdict) in [("sudo:/sbin/reboot", false, Verdict.pass), ("sudo:/bin/sh", true, .fail)] {
      var command = door(name, .elevation, "kiosk", .always)
      command.counts = counts
      #expect(judge([kiosk], [open, command], policy).verdict == verdict)
    }
  }

  @Test func `an intended door of which cannot be told where it leads is undecided`() {
    var policy = Policy.entry
    policy.intended = [.init(door: "graphical@lightdm", subject: "kiosk", why: "public")]
    let kiosk = Subject(name: "kiosk", uid: 1001, kind: .owner, account: .active, password: .locked)
    let open = door("graphical@lightdm", .entry, "kiosk", .always)
    for further in [door("polkit", .elevation, "kiosk", nil), door("ssh-key:alice:x", .secret, "alice", nil)] {
      let evidence = judge([alice, kiosk], [open, further], policy)
      #expect(evidence[.ownerAuthentication]?.result == .notRun)
      #expect(evidence.verdict == .unknown)
      #expect(evidence.findings.allSatisfy { $0.severity == .info })
      let named = evidence[.ownerAuthentication]?.findings ?? []
      #expect(evidence.findings.filter { named.contains($0.id) }.map(\.code) == ["unknownDoor"])
    }
    #expect(judge([alice, kiosk], [open, door("polkit", .elevation, "alice", nil)], policy).verdict == .pass)
  }

  @Test func `an intended door of everybody's leads nobody anywhere`() {
    var policy = Policy.stolen
    policy.intended = [.init(door: "volume:root", subject: "*", why: "not encrypted on this line")]
    let doors = [door("volume:root", .secret, "*", .always), door("ssh-key:alice:x", .secret, "alice", .always)]
    let evidence = judge([alice], doors, policy)
    #expect(evidence[.disk]?.result == .success && evidence[.keyring]?.result == .fail)
  }

  @Test func `a service's sudo rule is information`() {
    let backup = Subject(name: "backup", uid: 34, kind: .service, account: .active, password: .locked)
    let evidence = judge(
      [alice, backup],
      [door("login@console", .entry, "alice", .passcode), door("sudo", .elevation, "backup", .always)])
    #expect(evidence[.elevation]?.result == .absent)
    #expect(evidence.findings.map(\.severity) == [.info])
  }

  @Test func `root counts as an owner while one of its doors is not closed`() {
    var bare = root
    bare.password = .empty
    #expect(judge([bare], [door("login@console", .entry, "root", .never)])[.passcode]?.result == .absent)
    #expect(judge([bare], [door("login@console", .entry, "root", .always)])[.passcode]?.result == .fail)
  }

  @Test func `an owner without passcode who gets in with nothing fails passcode`() {
    var locked = alice
    locked.password = .locked
    #expect(judge([locked], [door("login@tty1", .entry, "alice", .always)])[.passcode]?.result == .fail)
    let keyOnly = judge([locked], [door("ssh@sshd", .remote, "alice", Opening([.token]))])
    #expect(keyOnly[.passcode]?.result == .success)
    #expect(keyOnly[.passcode]?.reason == "passcodeNotSet")
    #expect(judge([locked], [door("login@tty1", .entry, "alice", nil)])[.passcode]?.result == .notRun)
  }

  @Test func `an owner without passcode stands behind what stands before the door`() {
    var locked = alice
    locked.password = .locked
    var autologin = door("graphical@gdm", .entry, "alice", .always)
    autologin.oncePerBoot = true
    func passcode(_ volume: Opening?) -> Check? {
      judge([locked], [autologin, door("volume:root", .secret, "*", volume)])[.passcode]
    }
    #expect(passcode(.passcode)?.result == .success && passcode(.passcode)?.reason == "passcodeNotSet")
    #expect(passcode(Opening([.device]))?.result == .fail)
    #expect(passcode(nil)?.result == .notRun)
    #expect(passcode(.always)?.result == .fail)
  }

  @Test func `a door that asks nobody is no matter of one owner's passcode`() {
    let open = ["alice", "root"].map { door("login@console", .entry, $0, .always) }
    let evidence = judge([alice, root], open)
    #expect(evidence[.passcode]?.result == .success)
    #expect(evidence[.ownerAuthentication]?.result == .fail)
    #expect(judge([alice, root], [door("login@tty1", .entry, "root", .always)])[.passcode]?.result == .fail)
  }

  @Test func `a gap makes its checks not run`() {
    var facts = facts([alice], [door("login@console", .entry, "alice", .passcode)])
    facts.gaps = [Gap(Cause("unreadable", observed: "/etc/shadow may not be read"), checks: [.passcode])]
    let evidence = Judge.evidence(of: facts, under: .entry)
    #expect(evidence[.passcode]?.result == .notRun)
    #expect(evidence.verdict == .unknown)
  }

  @Test func `a store is bound to the device where every way in, or into its volume, is`() {
    var store = door("secrets@gnome-keyring:login", .secret, "alice", .passcode)
    store.isDefault = true
    func binding(_ ground: Opening?) -> Check? {
      store.ground = ground
      return judge([alice], [store])[.deviceBinding]
    }
    #expect(binding(Opening([.device, .passcode]))?.result == .success)
    #expect(binding(Opening([.device, .token], [.passcode]))?.reason == "portable")
    #expect(binding(.passcode)?.reason == "notBound")
    #expect(binding(nil)?.result == .notRun)
  }

  private static let obscure: [(name: String, proof: Door.Proof.Result?, volume: Opening?, wanted: CheckResult)] = [
    ("secrets@kwallet:kdewallet", nil, nil, .absent), ("ssh-key:alice:.ssh/id_rsa", nil, nil, .absent),
    ("ssh-key:alice:.ssh/id_rsa", .refused, nil, .notRun), ("home:alice", nil, nil, .notRun),
    ("secrets@keychain:this-device", nil, nil, .notRun),
    ("secrets@kwallet:kdewallet", nil, Opening([.device, .passcode]), .success),
    ("ssh-key:alice:.ssh/id_rsa", nil, .passcode, .absent),
  ]

  @Test(arguments: obscure)
  func `what opens a store need not be known to know that it is no hardware`(
    name: String, proof: Door.Proof.Result?, volume: Opening?, wanted: CheckResult
  ) {
    var store = door(name, .secret, "alice", nil)
    store.isDefault = true
    store.proof = proof.map { Door.Proof(.header, $0) }
    store.ground = volume ?? .always
    #expect(judge([alice], [store])[.deviceBinding]?.result == wanted)
  }

  @Test func `one store that is not bound is enough, whatever the others are`() {
    let stores = [Opening.passcode, nil].enumerated().map { door("home:\($0)", .secret, "alice", $1) }
    let evidence = judge([alice], stores)
    #expect(evidence[.deviceBinding]?.result == .absent && evidence[.deviceBinding]?.reason == "notBound")
  }

  @Test func `every door that is open or unknown is named by a finding of its check`() {
    for door in Door.Class.allCases.map({ door("x", $0, "alice", nil) }) {
      var door = door
      if door.class == .secret { door.name = "volume:x" }
      // What is required and missing has a finding of its own: nothing is required here.
      let evidence = judge([alice], [door], Policy(name: "none", demands: [:]))
      let named = evidence.checks.filter { !$0.findings.isEmpty }
      #expect(named.count == 1, "\(door.class)")
      #expect(named.first?.result == .notRun)
    }
  }
}
