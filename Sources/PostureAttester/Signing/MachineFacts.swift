import Posture
import PosturePlatform
import PostureTokens

/// What a report says of the machine and its present run.
struct MachineFacts: Sendable {
  /// Base64url, new with each start of the machine.
  var bootSeed: String
  /// Digest of the machine-id under a name of our own: tells clones of one disk apart, and says nothing else.
  var machine: String?

  static func read() -> MachineFacts {
    let boot = line("/proc/sys/kernel/random/boot_id") ?? ""
    return MachineFacts(
      bootSeed: String(SHA256.text(of: Array("posture boot \(boot)".utf8)).prefix(22)),
      machine: line("/etc/machine-id").map { SHA256.text(of: Array("posture machine \($0)".utf8)) })
  }

  private static func line(_ path: String) -> String? {
    guard let file = try? Descriptor.open(path, 0), let bytes = try? file.readAll(cap: 256), !bytes.isEmpty else {
      return nil
    }
    return String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
  }
}
