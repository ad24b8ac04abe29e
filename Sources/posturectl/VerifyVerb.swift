import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal
import PostureTokens

/// `posturectl verify`: is this really what the device said?
struct VerifyVerb: Verb {
  static let name = "verify"
  static let summary = "verify captured tokens, and print the evidence"
  static let help = """
    usage: posturectl verify FILE|- [--offline] [--credential FILE] [--doors] [--json] [--home DIR]

    Verifies each token in FILE: one a line, or JSON lines with a member "token" (what `export` writes). The device's
    credential is taken from --credential, from the folder's devices/, or from the broker (not with --offline); it must
    lead to the pinned root.

      --doors    print every door, too
      --json     one object a token

    exit status: 0 every token verifies, 1 one does not
    """

  private let home: HomeOption
  private let path: String
  private let isOffline: Bool
  private let credential: String?
  private let showsDoors: Bool
  private let isJSON: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    home = try HomeOption(&arguments)
    isOffline = arguments.flag("--offline")
    credential = try arguments.option("--credential")
    showsDoors = arguments.flag("--doors")
    isJSON = arguments.flag("--json")
    path = try arguments.rest(1...1, "the token's file")[0]
  }

  func run() throws -> Int32 {
    let home = try home.open()
    let texts = CapturedToken.all(in: try Input.text(path))
    guard !texts.isEmpty else { throw HomeError(.missing, "\(path): no token") }
    let verifier = CaptureVerifier(
      home, offline: isOffline, credentials: try credential.map { [try Home.read(text: $0)] } ?? [])
    var isGood = true
    for text in texts {
      do {
        let message = try verifier.verify(text, at: Clock.wall)
        show(message, try verifier.standing(of: message, at: Clock.wall))
      } catch let error as TokenError {
        isGood = false
        tell(error)
      }
    }
    return isGood ? 0 : 1
  }

  private func tell(_ error: TokenError) {
    guard isJSON else { return Terminal.error("posturectl: \(path): \(error)") }
    Terminal.out(
      JSON.build { object in
        object("verified", false)
        object("code", .string(error.code.rawValue))
        object("detail", .text(error.detail))
      }.text)
  }

  private func show(_ message: MonitorVerifier.Message, _ standing: MonitorVerifier.Standing) {
    if isJSON {
      return Terminal.out(
        JSON.build { object in
          object("verified", true)
          object("device", .string(message.device.description))
          object("typ", .string(message.token.kind.rawValue))
          object("kid", .string(message.kid))
          object("key", .string(standing.rawValue))
          object("digest", .string(message.token.digest))
          object("claims", message.token.claims)
        }.text)
    }
    Terminal.out(
      "verified: \(message.token.kind.rawValue) of \(message.device), "
        + (standing == .good ? "signed by a key that is good now" : "but its key is not good now: \(standing.rawValue)")
    )
    guard case .report(let claims) = message.content else { return Terminal.out(message.token.claims.text) }
    ReportLines(claims, kid: message.kid, at: Clock.wall).lines(width: Terminal.width, doors: showsDoors)
      .forEach(Terminal.out)
  }
}
