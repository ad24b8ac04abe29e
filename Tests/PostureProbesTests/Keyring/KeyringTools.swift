import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit

/// Real programs that judge or make what these tests read.
enum Tools {
  static func has(_ paths: String...) -> Bool { paths.allSatisfy { access($0, X_OK) == 0 } }

  struct Failure: Error, CustomStringConvertible { var description: String }

  /// Standard output of a program that has to succeed.
  @discardableResult
  static func run(
    _ path: String, _ arguments: [String], input: [UInt8] = [], environment: [String] = [], timeout: Int64 = 60_000
  ) throws -> String {
    var command = Command(path, arguments)
    command.input = input
    command.timeout = timeout
    command.environment += environment
    let output = try command.run()
    guard output.status == 0 else {
      throw Failure(
        description: "\(path) \(arguments): \(output.status) \(String(decoding: output.err, as: UTF8.self))")
    }
    return String(decoding: output.out, as: UTF8.self)
  }
}

extension FixtureTree {
  /// Without the syncs of a careful write: for the many rounds of a mutation test.
  func overwrite(_ path: String, _ bytes: [UInt8]) throws {
    try Descriptor.open(place(path), O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644).writeAll(bytes, path)
  }

  /// Alice, who owns /home/alice, and root.
  func addAlice() throws {
    try write("/etc/passwd", "root:x:0:0::/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/bash\n")
    try write(
      "/etc/shadow",
      "root:*:1::::::\nalice:$y$j9T$abcdefgh$0123456789012345678901234567890123456789012:19700:0:99999:7:::\n")
    try write("/etc/group", "root:x:0:\nalice:x:1000:\n")
  }

  /// What the whole probe finds.
  func examine() throws -> ProbeResult { KeyringProbe().run(on: try System(root: root, now: 1_700_000_000)) }
  func doors() throws -> [Door] { try examine().doors }
  func door(_ name: String) throws -> Door? { try doors().first { $0.name == name } }
}

/// A seed that a failure prints.
func freshSeed(_ what: String) -> UInt64 {
  var generator = SystemRandomNumberGenerator()
  let seed = generator.next()
  print("\(what): seed \(seed)")
  return seed
}

extension SplitMix {
  /// A few bytes changed, some cut away or put in.
  mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &self) where !bytes.isEmpty {
      let at = Int.random(in: 0..<bytes.count, using: &self)
      switch Int.random(in: 0..<4, using: &self) {
      case 0: bytes[at] = UInt8.random(in: 0...255, using: &self)
      case 1: bytes[at] ^= 1 << UInt8.random(in: 0...7, using: &self)
      case 2: bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...9, using: &self)))
      default: bytes.insert(contentsOf: [0xFF, 0xFF, 0xFF, 0xFF], at: at)
      }
    }
    return bytes
  }
}
