import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// Bytes of every kind into every parser of accounts and PAM: no crash, no hang, no flood.
struct ParserFuzzTests {
  /// Milliseconds for each kind of file.
  private static let time: Int64 = !Long.isWanted ? 400 : 20_000

  private static let targets: [(path: String, kind: Kind)] = [
    ("/etc/pam.d/svc", .pam), ("/etc/pam.d/common", .pam), ("/etc/pam.conf", .pam), ("/etc/passwd", .accounts),
    ("/etc/shadow", .accounts), ("/etc/group", .accounts), ("/etc/nsswitch.conf", .accounts),
    ("/etc/login.defs", .accounts), ("/var/lib/systemd/home/h.identity", .accounts),
    ("/etc/security/faillock.conf", .policy), ("/etc/security/pwquality.conf", .policy),
    ("/etc/security/access.conf", .pam), ("/etc/security/time.conf", .pam), ("/run/faillock/alice", .pam),
    ("/var/lib/dpkg/status", .pam), ("/etc/securetty", .pam), ("/etc/u2f", .pam), ("/etc/shells", .pam),
  ]

  enum Kind { case pam, accounts, policy }

  private static let seeds = [
    "auth [success=1 default=ignore] pam_unix.so nullok # x\\\n",
    "auth sufficient pam_succeed_if.so uid >= 1000 quiet\n",
    "@include common\nauth substack common\naccount include svc\n", "root:x:0:0:root:/root:/bin/bash\n",
    "alice:$6$rounds=1000$a$b:19700:0:99999:7:::\n", "passwd: files [!UNAVAIL=return] sss # x\n", "UID_MIN 1000\n",
    "+ : ALL EXCEPT (wheel) alice : LOCAL 10.\n", "login;tty*;!alice;!Al0000-2400\n", "deny = 3\nunlock_time = never\n",
    #"{"userName":"h","uid":60001,"storage":"luks","privileged":{"hashedPassword":["$y$x"]}}"#,
    "Package: libpam0g\nVersion: 1:1.5.2-6\n\n", "tty1\npts/0\n", "minlen = 9\ndictcheck=0\nenforce_for_root\n",
    "auth required pam_listfile.so item=user sense=deny file=/etc/u2f onerr=fail\n",
  ]

  @Test(.timeLimit(.minutes(15)), arguments: targets)
  private func `generated inputs end quickly and without harm`(path: String, kind: Kind) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SplitMix(seed)
    let tree = try FixtureTree([
      "/etc/passwd": "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n",
      "/etc/shadow": "root:*:1::::::\nalice::19700:0:99999:7:::\n", "/etc/nsswitch.conf": "passwd: files systemd\n",
      "/etc/pam.d/svc":
        "auth required pam_faillock.so preauth\nauth required pam_access.so\nauth required pam_securetty.so\n"
        + "auth sufficient pam_u2f.so authfile=/etc/u2f\nauth required pam_shells.so\nauth required pam_unix.so\n"
        + "auth include common\naccount required pam_time.so\npassword required pam_pwquality.so\n",
    ])
    if path == "/etc/pam.conf" { _ = try Command("/bin/rm", ["-r", tree.place("/etc/pam.d")]).run() }
    let end = Clock.boottimeMilliseconds + Self.time
    var rounds = 0
    while Clock.boottimeMilliseconds < end {
      let bytes = Self.bytes(&random)
      try Self.put(bytes, tree.place(path))
      let start = Clock.processNanoseconds
      examine(tree, kind)
      let milliseconds = (Clock.processNanoseconds - start) / 1_000_000
      // Other suites use the processor at the same time; what is meant is a hundred milliseconds of ours.
      #expect(milliseconds < 2000, "seed \(seed) round \(rounds): \(milliseconds) ms, \(bytes.count) bytes")
      rounds += 1
    }
    print("fuzz \(path): \(rounds) inputs, seed \(seed)")
    #expect(rounds > 0)
  }

  private func examine(_ tree: FixtureTree, _ kind: Kind) {
    guard let system = try? System(root: tree.root) else { return }
    let context = AuthContext(system)
    guard kind != .accounts else { return }
    for account in context.accounts.people + context.accounts.services.prefix(1) {
      _ = context.pam.outcome(of: PAM.Call("svc"), for: account)
    }
    _ = context.pam.outcome(of: PAM.Call("svc"), for: nil)
    if kind == .policy { _ = PasswordPolicyCheck.look(context) }
  }

  private static func put(_ bytes: [UInt8], _ path: String) throws {
    mkdir(Path.folder(of: path), 0o755)
    guard let file = fopen(path, "w") else { return }
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
  }

  private static func bytes(_ random: inout SplitMix) -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<Int.random(in: 0..<12, using: &random) {
      bytes += Array(seeds.randomElement(using: &random)!.utf8)
    }
    for _ in 0..<Int.random(in: 0..<10, using: &random) where !bytes.isEmpty {
      let at = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes.remove(at: at)
      case 2: bytes.insert(Array("\n:[]\\#= \t$".utf8).randomElement(using: &random)!, at: at)
      case 3: bytes.removeLast(bytes.count - at)
      case 4: bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + 40)], at: at)
      default:
        let digits = Array(["99999999999999999999", "-1", "0", "4294967296"].randomElement(using: &random)!.utf8)
        bytes.insert(contentsOf: digits, at: at)
      }
    }
    if Int.random(in: 0..<60, using: &random) == 0 {
      bytes = Array(repeating: bytes, count: 200).flatMap { $0 }
    }
    return bytes
  }
}
