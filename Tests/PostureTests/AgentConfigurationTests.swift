import Posture
import Testing

struct AgentConfigurationTests {
  private func read(_ text: String) throws -> AgentConfiguration {
    try AgentConfiguration(json: try CommentedJSON.parse(Array(text.utf8)))
  }

  @Test func `comments are passed over, wherever they stand`() throws {
    let configuration = try read(
      """
      // of the whole file
      { /* several
           lines */ "keepalive": 30, // at the end
        "state": "/srv/a//b /* no comment */", "clock" /* here */ : "trusted" }
      """)
    #expect(configuration.keepalive == 30)
    #expect(configuration.state == "/srv/a//b /* no comment */")
    #expect(configuration.clock == .trusted)
  }

  @Test func `nothing needs to be said`() throws {
    #expect(try read("{}") == AgentConfiguration())
  }

  @Test func `what is written can be read again`() throws {
    var configuration = AgentConfiguration()
    configuration.broker = .init(host: "broker.example", port: 8883, serverName: "broker.example")
    configuration.period = 60
    #expect(try AgentConfiguration(json: configuration.json) == configuration)
  }

  @Test(arguments: [
    "", "[]", "{", "{\"keepalive\": 4}", "{\"keepalive\": \"60\"}", "{\"keepalive\": 60.5}", "{\"period\": 0}",
    "{\"state\": \"relative\"}", "{\"clock\": \"maybe\"}", "{\"keepalife\": 60}",
    "{\"keepalive\": 60, \"keepalive\": 60}",
    "{\"broker\": \"x\"}", "{\"broker\": {\"host\": \"h\", \"port\": 0, \"serverName\": \"s\"}}", "/* {}", "{} // \"",
    "{\"broker\": {\"host\": \"h\", \"port\": 1, \"serverName\": \"s\", \"x\": 1}}", "{} /", "{\"state\": \"/a",
  ])
  func `a mistake is refused`(_ text: String) {
    if text == "{} // \"" {
      #expect(throws: Never.self) { try read(text) }
    } else {
      #expect(throws: (any Error).self) { try read(text) }
    }
  }

  @Test func `errors name the place in the text as it was written`() {
    let error = #expect(throws: JSONError.self) { try CommentedJSON.parse(Array("/* one */ x".utf8)) }
    #expect(error?.offset == 10)
  }
}
