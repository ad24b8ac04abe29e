import Posture
import PosturePlatform
import PostureTokens
import TestKit

/// One file of `schemas/vectors`: a header of `name: value` lines, an empty line, and the bytes of one message.
struct Vector {
  enum Receiver: String {
    case monitor, device, enrolment
  }

  enum Expectation: Equatable, CustomStringConvertible {
    case accept
    case awaitingKey, awaitingRoot
    case reject(TokenError.Code)
    case rejectClaim(ClaimError)

    var description: String {
      switch self {
      case .accept: "accept"
      case .awaitingKey: "awaitingKey"
      case .awaitingRoot: "awaitingRoot"
      case .reject(let code): "reject \(code.rawValue)"
      case .rejectClaim(let error): "reject claims \(error.code.rawValue) \(error.claim)"
      }
    }

    init?(_ text: String) {
      let words = text.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
      switch (words[0], words.count) {
      case ("accept", 1): self = .accept
      case ("awaitingKey", 1): self = .awaitingKey
      case ("awaitingRoot", 1): self = .awaitingRoot
      case ("reject", 2):
        guard let code = TokenError.Code(rawValue: words[1]) else { return nil }
        self = .reject(code)
      case ("reject", 4):
        guard let code = ClaimError.Code(rawValue: words[2]) else { return nil }
        self = .rejectClaim(ClaimError(code, words[3]))
      default: return nil
      }
    }

    init(_ error: TokenError) { self = error.claim.map(Self.rejectClaim) ?? .reject(error.code) }
  }

  /// Path below `schemas/vectors`, without `.txt`.
  var name: String
  var expect: Expectation
  var receiver: Receiver
  /// "-" for the enrolment, which has none.
  var topic: String
  /// Vectors that the receiver has taken before, in this order.
  var given: [String] = []
  var clock = Moment(VectorSite.now)
  /// What becomes of the signer's key at a monitor, and `trustExpired` at a device.
  var standing: String?
  /// The signer's public key, for readers that only verify signatures.
  var key: JSON?
  var why: String
  var body: [UInt8]

  var text: [UInt8] {
    var lines = [
      "expect: \(expect)", "receiver: \(receiver.rawValue)", "topic: \(topic)",
      "clock: \(clock.seconds)\(clock.isTrusted ? "" : " unsynced")",
    ]
    if !given.isEmpty { lines.append("given: \(given.joined(separator: " "))") }
    if let standing { lines.append("standing: \(standing)") }
    if let key { lines.append("key: \(key.text)") }
    lines.append("why: \(why)")
    return Array((lines.joined(separator: "\n") + "\n\n").utf8) + body
  }

  /// The header alone: signatures differ each time they are made.
  var header: String { String(decoding: text.dropLast(body.count), as: UTF8.self) }
}

extension Vector {
  static let folder = Repository.path("schemas/vectors")

  static func load(_ name: String) throws -> Vector {
    try Vector(name, try AtomicFile.readAny("\(folder)/\(name).txt"))
  }

  init(_ name: String, _ bytes: [UInt8]) throws {
    guard let end = bytes.indices.dropLast().first(where: { bytes[$0] == 10 && bytes[$0 + 1] == 10 }) else {
      throw VectorError(name, "no empty line")
    }
    var fields: [String: String] = [:]
    for line in String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\n") {
      guard let colon = line.range(of: ": ") else { throw VectorError(name, "no field: \(line)") }
      fields[String(line[..<colon.lowerBound])] = String(line[colon.upperBound...])
    }
    guard let expect = fields["expect"].flatMap(Expectation.init), let why = fields["why"],
      let receiver = fields["receiver"].flatMap(Receiver.init(rawValue:)), let topic = fields["topic"],
      let clock = fields["clock"]?.split(separator: " "), let seconds = Int64(clock[0])
    else { throw VectorError(name, "incomplete header") }
    self.name = name
    self.expect = expect
    self.receiver = receiver
    self.topic = topic
    self.clock = Moment(seconds, isTrusted: clock.count == 1)
    self.why = why
    given = fields["given"]?.split(separator: " ").map(String.init) ?? []
    standing = fields["standing"]
    key = try fields["key"].map { try JSONParser.parse($0) }
    body = Array(bytes[(end + 2)...])
  }

  struct VectorError: Error, CustomStringConvertible {
    let description: String
    init(_ name: String, _ why: String) { description = "\(name): \(why)" }
  }
}

extension StringProtocol {
  /// The first occurrence of `text`.
  fileprivate func range(of text: String) -> Range<Index>? {
    indices.first { self[$0...].hasPrefix(text) }.map { $0..<index($0, offsetBy: text.count) }
  }
}
