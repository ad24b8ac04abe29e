import Posture
import PostureFleet
import PosturePlatform
import TestKit
import Testing

/// schemas/asyncapi.json tells of the topics, kinds and rights that the code has.
@Suite struct AsyncAPITests {
  private let document: JSON
  private let channels: [JSON.Member]
  private static let site = Name("site-a")!

  init() throws {
    let path = Repository.path("schemas/asyncapi.json")
    document = try JSONParser.parse(try AtomicFile.readAny(path), limits: .foreign)
    channels = try #require(document["channels"]?.members)
  }

  /// One topic of every place, by its channel's address.
  private static let topics: [String: Topic] = {
    let (device, group) = (Name("edge-1")!, Name("lathe")!)
    let places: [Topic.Place] = [
      .report(device), .event(device), .presence(device), .reply(device), .keys(device), .request(device),
      .renewal(device), .recheckDevice(device),
      .recheckGroup(group), .recheckAll, .trust, .revoked, .revokedPart(3), .policy, .groupPolicy(group),
    ]
    return Dictionary(uniqueKeysWithValues: places.map { (address(Topic(site, $0).text), Topic(site, $0)) })
  }()

  private static func address(_ topic: String) -> String {
    let names = ["site-a": "{site}", "edge-1": "{device}", "lathe": "{group}", "3": "{part}"]
    return topic.split(separator: "/").map { names[String($0)] ?? String($0) }.joined(separator: "/")
  }

  private func messages(_ channel: JSON) -> [String] { channel["messages"]?.members?.map(\.name) ?? [] }

  @Test func `channels are the topics, each with its kinds of token`() throws {
    #expect(Set(channels.compactMap { $0.value["address"]?.string }) == Set(Self.topics.keys))
    for channel in channels {
      let topic = try #require(Self.topics[channel.value["address"]?.string ?? ""])
      let kinds = messages(channel.value).compactMap { document["components"]?["messages"]?[$0]?["name"]?.string }
      #expect(Set(kinds) == Set(topic.kinds.map(\.rawValue)), "\(channel.name)")
      #expect(channel.value["x-retained"]?.bool == topic.isRetained, "\(channel.name)")
    }
  }

  @Test func `messages have the schemas and limits of their kinds`() throws {
    let components = try #require(document["components"]?["messages"]?.members)
    #expect(components.count == TokenKind.allCases.count)
    for message in components {
      let kind = try #require(message.value["name"]?.string.flatMap(TokenKind.init(rawValue:)))
      let schema = try #require(message.value["payload"]?["schema"])
      #expect(schema["maxLength"]?.integer == Int64(kind.sizeLimit), "\(message.name)")
      #expect(schema["contentSchema"]?["$ref"]?.string == "\(Schema.name(of: kind)).schema.json", "\(message.name)")
    }
  }

  @Test func `rights are those of the broker's rules`() throws {
    let listener = BrokerConfiguration.Listener(address: "127.0.0.1", port: 8883)
    let rules = BrokerConfiguration(
      site: Self.site, folder: "/site", deviceListener: listener, operatorListener: listener)
    var told: [String: Set<String>] = [:]
    var role = "device"
    for line in (rules.devices + rules.operators).split(separator: "\n").map({ $0.split(separator: " ") }) {
      if line[0] == "user" { role = String(line[1]); continue }
      // The roles have no rights at the devices' door.
      if line[1] == "deny" { continue }
      let topic = line[2].split(separator: "/").map(String.init)
      let address = topic.enumerated().map { index, level in
        switch level {
        case "site-a": "{site}"
        case "%u": "{device}"
        case "+": ["d": "{device}", "g": "{group}"][topic[index - 1]] ?? "{part}"
        default: level
        }
      }
      told[address.joined(separator: "/") + " " + line[1], default: []].insert(role)
    }
    for channel in channels {
      let address = channel.value["address"]?.string ?? ""
      for (word, list) in [("write", "x-writers"), ("read", "x-readers")] {
        #expect(
          Set(channel.value[list]?.strings ?? []) == told["\(address) \(word)"] ?? [], "\(channel.name) \(word)")
      }
    }
    #expect(told.count == channels.count * 2)
  }

  @Test func `the agent sends what devices may write and receives what they may read`() throws {
    let operations = try #require(document["operations"]?.members)
    for (action, list) in [("send", "x-writers"), ("receive", "x-readers")] {
      let described = operations.filter { $0.value["action"]?.string == action }
        .compactMap { $0.value["channel"]?["$ref"]?.string }
      let expected = channels.filter { $0.value[list]?.strings?.contains("device") == true }
        .map { "#/channels/\($0.name)" }
      #expect(Set(described) == Set(expected), "\(action)")
    }
  }

  @Test(.enabled(if: Python.has("asyncapi3"), "needs asyncapi3 of PyPI"))
  func `another's validator takes it, and tells a wrong one`() throws {
    #expect(try Self.validate(document).status == 0)
    guard case .object(var members) = document else { return }
    members.removeAll { $0.name == "info" }
    #expect(try Self.validate(.object(members)).status == 1)
  }

  private static func validate(_ document: JSON) throws -> Command.Output {
    let program = """
      import json, sys, warnings
      warnings.simplefilter("ignore")
      from asyncapi3.models.asyncapi import AsyncAPI3
      from pydantic import ValidationError
      try: AsyncAPI3.model_validate(json.load(sys.stdin))
      except ValidationError as error: sys.exit(1)
      """
    var command = Python.command(["-c", program])
    command.input = document.bytes
    return try command.run()
  }
}
