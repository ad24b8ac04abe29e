import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

/// From the change of a file to the report at the broker.
@Suite(.serialized, .enabled(if: Rig.isLong, Rig.needsLong))
struct ChangeTests {
  enum Change: String, CaseIterable {
    case shadowInPlace, shadowByRename, sudoers, polkit, keyring, authorizedKeys
  }

  @Test(arguments: Change.allCases) func `a change is at the broker within two seconds`(_ change: Change) throws {
    let rig = try Rig()
    try rig.tree.write("/home/alice/.local/share/keyrings/login.keyring", "GnomeKeyring\n\r\0\n")
    try rig.start()
    #expect(rig.isSettled(10_000))
    // What the start had left to look at is looked at.
    usleep(1_500_000)
    rig.record.skip()
    let began = Clock.monotonicMilliseconds
    try make(change, rig)
    let report = rig.record.wait(for: "report", 10_000) { $0["cause"] == "change" }
    let took = Clock.monotonicMilliseconds - began
    #expect(report != nil, "\(rig.silence("no report"))")
    print("\(change): at the broker after \(took) ms")
    #expect(took < 2_000)
    if change == .shadowInPlace || change == .shadowByRename { #expect(report?["verdict"] == "fail") }
  }

  private func make(_ change: Change, _ rig: Rig) throws {
    switch change {
    case .shadowInPlace: try overwrite(rig.tree.place("/etc/shadow"), SmallMachine.openShadow)
    case .shadowByRename: try rig.tree.write("/etc/shadow", SmallMachine.openShadow, mode: 0o600)
    case .sudoers: try rig.tree.write("/etc/sudoers.d/alice", "alice ALL=(ALL) NOPASSWD: ALL\n", mode: 0o440)
    case .polkit:
      try rig.tree.write(
        "/etc/polkit-1/rules.d/20-open.rules", "polkit.addRule(function(a,s){return \"yes\";});\n")
    case .keyring: try overwrite(rig.tree.place("/home/alice/.local/share/keyrings/login.keyring"), "none\n")
    case .authorizedKeys: try overwrite(rig.tree.place("/home/alice/.ssh/authorized_keys"), "# none\n")
    }
  }

  /// The same file with another content.
  private func overwrite(_ path: String, _ text: String) throws {
    let file = try Descriptor.open(path, O_WRONLY | O_TRUNC)
    try file.writeAll(Array(text.utf8), path)
  }
}
