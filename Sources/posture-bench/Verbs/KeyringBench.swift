import Glibc
import Posture
import PosturePlatform
import PostureProbes

/// `keyring`: the passive part of the keyring question on a machine of ten people, each with two keyrings, a wallet, two
/// SSH keys and a home of their own.
struct KeyringBench: Bench {
  static let name = "keyring"
  static let question = "what does it cost to look at the stores of ten people"

  private static let people = 10

  func run() throws(BenchError) -> [Figure] {
    let folder = try WorkFolder()
    let root = folder.path
    do throws(SystemError) { try Self.make(root) } catch { throw BenchError("\(error)") }
    guard let first = Self.look(root), first.stores == 5 * Self.people else {
      throw BenchError("the tree was not read as it should be")
    }
    let samples = (0..<31).compactMap { _ in Self.look(root)?.milliseconds }
    return [
      Figure(
        bench: Self.name, metric: "passive part, 10 people, 20 keyrings", unit: "ms", samples: Samples(samples),
        target: .atMost(5))
    ]
  }

  /// CPU time, and how many stores of people were found.
  private static func look(_ root: String) -> (milliseconds: Double, stores: Int)? {
    guard let system = try? System(root: root) else { return nil }
    let began = Clock.processNanoseconds
    let doors = KeyringProbe().run(on: system).doors
    let spent = Double(Clock.processNanoseconds - began) / 1e6
    return (spent, doors.count { $0.subject.hasPrefix("person") })
  }

  private static func make(_ root: String) throws(SystemError) {
    let names = (0..<people).map { "person\($0)" }
    let rows = names.enumerated().map { "\($1):x:\(1000 + $0):100::/home/\($1):/bin/sh\n" }
    let shadow = names.map { "\($0):!:19700::::::\n" }
    try write(root, "/etc/passwd", Array(rows.joined().utf8))
    try write(root, "/etc/shadow", Array(shadow.joined().utf8))
    try write(root, "/etc/fstab", Array("/dev/sda1 / ext4 defaults 0 1\n".utf8))
    for name in names {
      for (path, bytes) in files { try write(root, "/home/\(name)/\(path)", bytes) }
    }
  }

  private static let files: [(String, [UInt8])] = {
    let plain = Array("[keyring]\ndisplay-name=Default\n".utf8)
    let open = Array("-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n".utf8)
    let closed = Array("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMC4=\n-----END ENCRYPTED PRIVATE KEY-----\n".utf8)
    // Without its salt nothing can be tried: a trial is as slow as the wallet's makers wanted it to be.
    let wallet = Array("KWALLET\n\r\0\r\n".utf8) + [0, 1, 3, 2] + [UInt8](repeating: 0, count: 4 + 64)
    return [
      (".local/share/keyrings/login.keyring", plain), (".local/share/keyrings/work.keyring", plain),
      (".local/share/keyrings/default", Array("work\n".utf8)), (".local/share/kwalletd/kdewallet.kwl", wallet),
      (".ssh/id_ed25519", open), (".ssh/id_rsa", closed), (".ssh/known_hosts", [UInt8](repeating: 65, count: 20_000)),
    ]
  }()

  private static func write(_ root: String, _ path: String, _ bytes: [UInt8]) throws(SystemError) {
    var folder = root
    for part in Path.folder(of: path).split(separator: "/") {
      folder += "/\(part)"
      mkdir(folder, 0o755)
    }
    try AtomicFile.write(bytes, to: root + path, mode: 0o644)
  }
}
