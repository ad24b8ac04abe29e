import Posture
import Testing

struct TopicTests {
  @Test(arguments: [
    "d/edge-1/report", "d/edge-1/event", "d/edge-1/presence", "d/edge-1/reply", "d/edge-1/keys",
    "d/edge-1/request", "d/edge-1/renewal",
    "d/edge-1/cmd/recheck", "g/lathe/cmd/recheck", "all/cmd/recheck", "trust", "revoked", "revoked/3", "policy",
    "g/lathe/policy",
  ])
  func `each topic is read and written the same`(tail: String) throws {
    let text = "posture/v1/site-a/\(tail)"
    let topic = try #require(Topic(text))
    #expect(topic.text == text)
    #expect(!topic.kinds.isEmpty)
  }

  @Test(arguments: [
    "", "posture/v1", "posture/v1/site-a", "posture/v2/site-a/trust", "posture/v1/Site/trust", "posture/v1/+/trust",
    "posture/v1/site-a/d/+/report", "posture/v1/site-a/d/../report", "posture/v1/site-a/d/edge-1/report/",
    "posture/v1/site-a/d/EDGE-1/report", "posture/v1/site-a/d/-edge/report", "posture/v1/site-a/d/edge-1/cmd",
    "posture/v1/site-a/all/recheck", "posture/v1/site-a/revoked/03", "posture/v1/site-a/revoked/-1", "$SYS/trust",
    "/posture/v1/site-a/trust", "posture/v1/site-a/d/edge\u{0}1/report", "posture/v1//trust",
  ])
  func `no other topic is ours`(text: String) {
    #expect(Topic(text) == nil)
  }

  @Test func `commands are never retained`() throws {
    for tail in ["d/edge-1/cmd/recheck", "g/lathe/cmd/recheck", "all/cmd/recheck"] {
      #expect(try #require(Topic("posture/v1/site-a/\(tail)")).isRetained == false)
    }
  }

  @Test func `a name has at most 63 characters`() {
    #expect(Name(String(repeating: "a", count: 63)) != nil)
    #expect(Name(String(repeating: "a", count: 64)) == nil)
  }
}
