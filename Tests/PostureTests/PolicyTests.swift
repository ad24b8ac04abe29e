import Posture
import Testing

struct PolicyTests {
  @Test func `a file builds on a shipped policy`() throws {
    let policy = try Policy(
      json: try JSONParser.parse(
        #"{"name":"kiosk","base":"entry","checks":{"disk":"require","passcode":"inform"},"#
          + #""intended":[{"door":"graphical@lightdm","subject":"kiosk","why":"public terminal"}]}"#))
    #expect(policy.name == "kiosk")
    #expect(policy.demand(of: .disk) == .require)
    #expect(policy.demand(of: .passcode) == .inform)
    #expect(policy.demand(of: .ownerAuthentication) == .require)
    #expect(policy.intended == [.init(door: "graphical@lightdm", subject: "kiosk", why: "public terminal")])
  }

  @Test(arguments: [
    "[]", "{}", #"{"name":""}"#, #"{"name":"x","base":"none"}"#, #"{"name":"x","checks":{"disc":"require"}}"#,
    #"{"name":"x","checks":{"disk":"yes"}}"#, #"{"name":"x","checks":[]}"#, #"{"name":"x","intend":[]}"#,
    #"{"name":"x","intended":[{"door":"a","subject":"b"}]}"#, #"{"name":"x","intended":{}}"#,
  ])
  func `a policy with a fault is refused`(text: String) throws {
    let json = try JSONParser.parse(text)
    #expect(throws: PolicyError.self) { try Policy(json: json) }
  }

  @Test func `the shipped ones grow`() {
    for (weak, strong) in [(Policy.entry, Policy.stolen), (.stolen, .hardened)] {
      for check in CheckName.allCases where weak.demand(of: check) != .inform {
        #expect(strong.demand(of: check) != .inform)
      }
    }
  }
}
