import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl sign`: a command for others to send.
struct SignVerb: Verb {
  static let name = "sign"
  static let summary = "sign a recheck command for another system to publish"
  static let help = """
    usage: posturectl sign --device D | --group G | --all [--life S] [--spread S] [--challenge C] [--json] [--home DIR]

    Prints the token; --json adds the topic to publish it on (QoS 1, not retained), the nonce that the report must echo,
    and the end of its life. Without --json the topic goes to standard error.

      --life S         seconds that the command is good for, at most 300 (default: 120)
      --challenge C    the chal of the device's presence, for one whose clock is not trusted
    """

  private let home: HomeOption
  private let target: Recheck.Target
  private var options = RecheckCommand.Options()
  private let isJSON: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    home = try HomeOption(&arguments)
    target = try RecheckVerb.target(&arguments)
    if case .devices(let names) = target, names.count > 1 { throw UsageError("sign takes one --device") }
    options.life = try arguments.number("--life", in: 1...300).map(Int64.init) ?? options.life
    options.spread = try arguments.number("--spread", in: 0...3_600).map(Int64.init)
    options.challenge = try arguments.option("--challenge")
    isJSON = arguments.flag("--json")
    try arguments.end()
  }

  func run() throws -> Int32 {
    let home = try home.open()
    let audience: Audience =
      switch target {
      case .devices(let names): .device(Party(home.site, names[0]))
      case .group(let group): .group(site: home.site, group)
      case .all: .site(home.site)
      }
    let command = try RecheckCommand(audience, from: Identity(.controller, in: home), at: Clock.wall, options)
    let topic = audience.recheckTopic.text
    guard isJSON else {
      Terminal.error("topic: \(topic)")
      Terminal.out(command.token)
      return 0
    }
    let json: JSON = [
      "topic": .string(topic), "token": .string(command.token), "nonce": .string(command.claims.nonce),
      "jti": .string(command.claims.id), "expires": .integer(command.claims.expires),
    ]
    Terminal.out(json.text)
    return 0
  }
}
