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
    usage: posturectl verify FILE|- [--offline] [--credential FILE]... [--doors] [--json] [--home DIR]

    Verifies each token in FILE: one a line, or JSON lines with a member "token" (what `export` writes). The device's
    credential is taken from a line before, from --credential, from the folder's devices/, or from the broker (not with
    --offline); it must lead to the pinned root.

      --credential FILE   a credential; may be given several times
      --doors             print every door, too
      --json              one object a token

    exit status: 0 every token verifies, 1 one does not
    """

  private let home: HomeOption
  private let path: String
  private let isOffline: Bool
  private let credentials: [String]
  private let showsDoors: Bool
  private let isJSON: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    home = try HomeOption(&arguments)
    isOffline = arguments.flag("--offline")
    credentials = try arguments.options("--credential")
    showsDoors = arguments.flag("--doors")
    isJSON = arguments.flag("--json")
    path = try arguments.rest(1...1, "the token's file")[0]
  }

  func run() throws -> Int32 {
    let verifier = try CaptureVerifier(home.open(), offline: isOffline, at: Clock.wall)
    for file in credentials { try take(file, verifier) }
    var lines = try Input.lines(path, cap: JSONParser.Limits.message.bytes)
    var (number, tokens, isGood) = (0, 0, true)
    while let line = try lines.next() {
      number += 1
      do {
        guard let token = try token(in: line) else { continue }
        tokens += 1
        let finding = try verifier.verify(token, at: Clock.wall)
        show(finding, verifier.standing(of: finding, at: Clock.wall))
      } catch let error as TokenError {
        isGood = false
        tell(error, line: number)
      }
    }
    guard tokens > 0 || !isGood else { throw HomeError(.missing, "\(path): no token") }
    return isGood ? 0 : 1
  }

  private func take(_ file: String, _ verifier: CaptureVerifier) throws {
    do { _ = try verifier.verify(try Home.read(text: file), at: Clock.wall) } catch let error as TokenError {
      throw HomeError(.refused, "\(file): \(error)")
    }
  }

  private func token(in line: LineReader.Line) throws(TokenError) -> String? {
    guard case .bytes(let bytes) = line else { throw TokenError(.tooLarge, "a line") }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw TokenError(.notCompact, "not UTF-8") }
    return CapturedToken.text(in: text)
  }

  private func tell(_ error: TokenError, line: Int) {
    guard isJSON else { return Terminal.error("posturectl: \(path):\(line): \(error)") }
    Terminal.out(
      JSON.build { object in
        object("verified", false)
        object("line", .count(line))
        object("code", .string(error.code.rawValue))
        object("detail", .text(error.detail))
      }.text)
  }

  private func show(_ finding: CaptureVerifier.Finding, _ standing: MonitorVerifier.Standing) {
    switch finding {
    case .message(let message): show(message, standing)
    case .credential(let credential): show(credential, standing)
    }
  }

  private func show(_ credential: Credential, _ standing: MonitorVerifier.Standing) {
    let device = credential.grant.subject?.name.description ?? ""
    guard isJSON else {
      return Terminal.out(
        "verified: \(TokenKind.credential.rawValue) of \(device), "
          + (standing == .good ? "good now" : "but not good now: \(standing.rawValue)"))
    }
    Terminal.out(
      JSON.build { object in
        object("verified", true)
        object("device", .string(device))
        object("typ", .string(TokenKind.credential.rawValue))
        object("kid", .string(credential.kid))
        object("key", .string(standing.rawValue))
        object("claims", credential.claims.claims)
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
