import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// A million inputs that nobody wrote, for every reader of this probe. Seeds are printed.
@Suite(.enabled(if: Long.isWanted))
struct KeyringFuzzTests {
  private struct Reader: Sendable {
    var name: String
    var seed: [UInt8]
    var read: @Sendable ([UInt8]) -> Void
  }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  private static let readers: [Reader] = {
    let wallet = Repository.path(
      "Tests/Cases/107-kwallet-blank-password/root/home/alice/.local/share/kwalletd/kdewallet.kwl")
    let key = PEM.text("OPENSSH PRIVATE KEY", Array("openssh-key-v1\0".utf8) + [0, 0, 0, 4] + Array("none".utf8))
    let pin = Base64URL.encode(Array(#"{"clevis":{"pin":"sss","sss":{"t":1,"jwe":["eyJ9.."]}}}"#.utf8))
    let crypttab = "root UUID=11 /key:LABEL=x luks,tpm2-device=auto,header=/a\n# x\nswap /dev/sda3 /dev/urandom swap\n"
    let mounts = "22 1 8:1 / / rw,noatime shared:1 - ext4 /dev/sda1 rw\nUUID=a / ext4\n/dev/b\t/c\\040d e f\n"
    let record = #"{"binding":{"a":{}},"perMachine":[{"matchHostname":"box"}],"privileged":{"hashedPassword":["*"]}}"#
    let script = "#!/bin/sh\nsystemd-creds decrypt '/k' - | gnome-keyring-daemon --unlock\n"
    return [
      Reader(name: "gnome-keyring", seed: KeyringGnomeTests.encrypted) { _ = GnomeKeyring($0) },
      Reader(name: "plain keyring", seed: Array(KeyringGnomeTests.plain.utf8)) { _ = GnomeKeyring($0) },
      Reader(name: "wallet", seed: (try? AtomicFile.readAny(wallet)) ?? []) { _ = KWallet($0) },
      Reader(name: "SSH key", seed: Array(key.utf8)) { _ = SSHPrivateKey($0) },
      Reader(name: "protocol buffer", seed: [10, 1, 107, 26, 3, 10, 1, 112, 16, 1, 48, 232, 7]) {
        _ = ProtoMessage($0)
      },
      Reader(name: "clevis", seed: Array(pin.utf8)) { _ = ClevisPin(compact: text($0))?.opening },
      Reader(name: "crypttab", seed: Array(crypttab.utf8)) {
        for entry in Crypttab.parse(text($0)) {
          _ = (entry.isThrowAway, entry.option("header"), entry.isOn("headless"))
        }
      },
      Reader(name: "mounts", seed: Array(mounts.utf8)) {
        _ = MountTable.mountinfo(text($0))
        _ = MountTable.fstab(text($0))
      },
      Reader(name: "settings", seed: Array("[Wallet][$i]\nEnabled[$i]=false\n;x\n".utf8)) {
        var config = KConfig(group: "Wallet")
        config.read(text($0), path: "/kwalletrc")
      },
      Reader(name: "archive", seed: InitrdBuilder.archive([("etc/crypttab", crypttab), ("a/b", "c")])) {
        var archive = CPIOReader { $0.hasPrefix("etc/") }
        _ = try? archive.feed($0[...])
      },
      Reader(name: "user record", seed: Array(record.utf8)) {
        _ = (try? JSONParser.parse($0)).map { ManagedHome($0, on: HomeMachine(id: "id", host: "box")) }
      },
      Reader(name: "script", seed: Array(script.utf8)) { _ = UnlockScript(text($0)) },
      Reader(name: "links of volumes", seed: Array("/dev/disk/by-id/dm-uuid-CRYPT-LUKS2-a-b".utf8)) {
        _ = BlockDevices.mappingName(ofPath: text($0))
        _ = BlockDevices.disk(ofPartition: text($0))
        _ = OverlayLayers(["lowerdir=\(text($0))"]).folders
      },
      Reader(name: "names of volumes", seed: Array("my--vg-root--a".utf8)) {
        _ = BlockDevices.group(ofVolumeName: text($0))
        _ = InitrdFinder.isOlder(text($0), "initrd.img-6.10.0")
        _ = SecretServiceProbe.collectionName(text($0))
      },
    ]
  }()

  @Test(.timeLimit(.minutes(20))) func `a million inputs crash no reader`() {
    let seed = freshSeed("a million inputs")
    let rounds = 1_000_000 / Self.readers.count + 1
    for (number, reader) in Self.readers.enumerated() {
      #expect(!reader.seed.isEmpty)
      var generator = SplitMix(seed &+ UInt64(number))
      let began = Clock.monotonicNanoseconds
      for _ in 0..<rounds { reader.read(generator.mutated(reader.seed)) }
      print("\(reader.name): \(rounds) inputs in \((Clock.monotonicNanoseconds - began) / 1_000_000) ms")
    }
  }

  /// Whole files on a disk, through everything that a header and an image pass.
  @Test(.timeLimit(.minutes(10))) func `headers in files`() throws {
    let seed = freshSeed("headers in files")
    var generator = SplitMix(seed)
    let tokens = [("systemd-tpm2", 0, ",\"tpm2-pcrs\":[7],\"tpm2-pin\":true"), ("clevis", 1, ",\"jwe\":{}")]
    let json = Array(LUKSBuilder.metadata(slots: 2, tokens: tokens).utf8)
    let tree = try FixtureTree()
    for _ in 0..<10_000 {
      try tree.overwrite("/disk", LUKSBuilder.copy(generator.mutated(json)))
      _ = try? LUKSHeader.read(try System(root: tree.root), "/disk")
    }
  }
}
