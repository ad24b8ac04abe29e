import Glibc
import Posture
import PosturePlatform
@testable import PostureTokens
import TestKit
import Testing

/// The files of `schemas/vectors`, each against our decoder. POSTURE_WRITE_VECTORS=1 makes them anew.
@Suite(.serialized) struct VectorTests {
  static let book: [Vector] = {
    let book = try! VectorBook().vectors
    if getenv("POSTURE_WRITE_VECTORS") != nil { try! write(book) }
    return book
  }()

  private static func write(_ book: [Vector]) throws {
    _ = try Command("/usr/bin/find", [Vector.folder, "-name", "*.txt", "-delete"]).run()
    for vector in book {
      let path = "\(Vector.folder)/\(vector.name).txt"
      _ = try Command("/bin/mkdir", ["-p", Path.folder(of: path)]).run()
      try AtomicFile.write(vector.text, to: path, mode: 0o644)
    }
    try AtomicFile.write(
      Array((VectorSite.key("root").publicKey.jwk.json.text + "\n").utf8), to: "\(Vector.folder)/root.jwk", mode: 0o644)
  }

  /// Names below the folder, without `.txt`.
  static func files() throws -> [String] {
    let output = try Command("/usr/bin/find", [Vector.folder, "-name", "*.txt"]).run()
    return String(decoding: output.out, as: UTF8.self).split(separator: "\n")
      .map { String($0.dropFirst(Vector.folder.count + 1).dropLast(4)) }.sorted()
  }

  @Test func `the files are those of the book`() throws {
    let names = Self.book.map(\.name).sorted()
    #expect(try Self.files() == names)
    for vector in Self.book { #expect(try Vector.load(vector.name).header == vector.header, "\(vector.name)") }
  }

  @Test func `each file is judged as its header says`() throws {
    let files = try Self.files()
    #expect(files.count > 400)
    for name in files {
      let vector = try Vector.load(name)
      var judge = try VectorJudge()
      for given in vector.given { try judge.take(Vector.load(given)) }
      let (seen, standing) = try judge.judge(vector)
      #expect(seen == vector.expect, "\(name)")
      if let wanted = vector.standing { #expect(standing == wanted, "\(name)") }
    }
  }

  @Test func `every code has a vector`() throws {
    let seen = Set(Self.book.map(\.expect.description))
    for code in TokenError.Code.allCases where code != .claims {
      #expect(seen.contains("reject \(code.rawValue)"), "\(code)")
    }
    let claims = Set(Self.book.compactMap { if case .rejectClaim(let error) = $0.expect { error.code } else { nil } })
    #expect(claims == Set(ClaimError.Code.allCases))
  }
}

/// One receiver with the site's root pinned.
struct VectorJudge {
  private var monitor: MonitorVerifier
  private var device: DeviceVerifier
  private var given: [Credential] = []

  init() throws {
    let site = Name("site-a")!
    let root = try JWK(claims: JSONParser.parse(AtomicFile.readAny("\(Vector.folder)/root.jwk")))
    let store = try TrustStore(site: site, root: root)
    monitor = MonitorVerifier(trust: store)
    device = DeviceVerifier(device: Party(site, Name("edge-0042")!), groups: [Name("lathe")!], trust: store)
  }

  /// What came before the message in question; it has to be good.
  mutating func take(_ vector: Vector) throws {
    let outcomes = monitor.receive(vector.body, on: vector.topic, at: vector.clock)
    if case .credential(let credential, _)? = outcomes.first { given.append(credential) }
    if case .rejected(_, let error)? = outcomes.first { throw error }
    if vector.topic.hasSuffix("/trust") { try device.trust.accept(vector.body, at: vector.clock) }
  }

  mutating func judge(_ vector: Vector) throws -> (Vector.Expectation, standing: String?) {
    do {
      switch vector.receiver {
      case .monitor: return observe(vector)
      case .device: return try (.accept, obey(vector))
      case .enrolment:
        _ = try EnrolmentRequest(vector.body)
        return (.accept, nil)
      }
    } catch let error as TokenError {
      return (Vector.Expectation(error), nil)
    } catch EnrolmentError.token(let error) {
      return (Vector.Expectation(error), nil)
    } catch EnrolmentError.notItsOwnKey {
      return (.reject(.unknownKey), nil)
    }
  }

  private mutating func observe(_ vector: Vector) -> (Vector.Expectation, standing: String?) {
    let outcome = monitor.receive(vector.body, on: vector.topic, at: vector.clock)[0]
    switch outcome {
    case .message(let message): return (.accept, standing(message.kid, vector))
    case .credential(let credential, _): return (.accept, standing(credential.kid, vector))
    case .trust, .revoked: return (.accept, nil)
    case .awaitingKey(_, let kid): return (.awaitingKey, standing(kid, vector))
    case .awaitingRoot: return (.awaitingRoot, nil)
    case .rejected(_, let error): return (Vector.Expectation(error), nil)
    }
  }

  private func standing(_ kid: String, _ vector: Vector) -> String {
    monitor.standing(of: kid, at: vector.clock).rawValue
  }

  private mutating func obey(_ vector: Vector) throws -> String? {
    guard let topic = Topic(vector.topic) else { throw TokenError(.topic) }
    switch topic.place {
    case .trust:
      try device.trust.accept(vector.body, at: vector.clock)
      return nil
    case .policy, .groupPolicy:
      _ = try device.policy(vector.body, on: topic, at: vector.clock)
      return nil
    case .renewal:
      guard let current = given.last else { throw TokenError(.unknownKey) }
      _ = try device.renewal(vector.body, of: current, at: vector.clock)
      return nil
    default:
      return try device.command(vector.body, on: topic, at: vector.clock).isTrustExpired ? "trustExpired" : nil
    }
  }
}
