import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// Which stores count, for whom, and where people keep them.
struct KeyringStoresTests {
  private static let keyrings = "/home/alice/.local/share/keyrings"

  private func tree(_ files: [String: String] = [:]) throws -> FixtureTree {
    let tree = try FixtureTree(files)
    try tree.addAlice()
    return tree
  }

  private func defaults(_ tree: FixtureTree) throws -> [String] {
    try tree.doors().filter(\.isDefault).map(\.name).sorted()
  }

  // MARK: Providers

  @Test func `new secrets go only where a program serves them`() throws {
    let wallet = Repository.path("Tests/Cases/107-kwallet-blank-password/root/home/alice/.local/share/kwalletd")
    let tree = try tree(["\(Self.keyrings)/login.keyring": KeyringGnomeTests.plain])
    for name in ["kdewallet.kwl", "kdewallet.salt"] {
      try tree.write("/home/alice/.local/share/kwalletd/\(name)", try AtomicFile.readAny("\(wallet)/\(name)"))
    }
    // A tree that shows no program at all is believed.
    #expect(try defaults(tree) == ["secrets@gnome-keyring:login", "secrets@kwallet:kdewallet"])
    try tree.write("/usr/bin/kwalletd6", "")
    #expect(try defaults(tree) == ["secrets@kwallet:kdewallet"])
    #expect(try tree.door("secrets@gnome-keyring:login")?.opening == .always)
    try tree.write(
      "/usr/share/dbus-1/services/org.freedesktop.secrets.service",
      "[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/usr/bin/gnome-keyring-daemon --start\n")
    #expect(try defaults(tree) == ["secrets@gnome-keyring:login", "secrets@kwallet:kdewallet"])
  }

  @Test func `oo7 keeps its own files, and serves the older ones`() throws {
    let tree = try tree(["\(Self.keyrings)/login.keyring": KeyringGnomeTests.plain, "/usr/libexec/oo7-daemon": ""])
    try tree.write("\(Self.keyrings)/v1/login.keyring", Array("GnomeKeyring\n\r\0\n".utf8) + [1, 0, 0, 0, 9])
    #expect(try defaults(tree) == ["secrets@gnome-keyring:login", "secrets@oo7:login"])
    let door = try #require(try tree.door("secrets@oo7:login"))
    #expect(door.answer == .unknown && door.cause?.code == "notModelled")
  }

  @Test(arguments: [
    ("/usr/bin/pass_secret_service", true), ("/opt/vault --serve", true),
    ("/usr/bin/gnome-keyring-daemon --start", false),
    ("/usr/bin/keepassxc", false), ("/usr/bin/ksecretd", false),
  ])
  func `a provider of which nothing is known is one all the same`(command: String, isOther: Bool) throws {
    let tree = try tree(["\(Self.keyrings)/login.keyring": KeyringGnomeTests.plain])
    try tree.write(
      "/usr/share/dbus-1/services/org.freedesktop.secrets.service",
      "[D-BUS Service]\nName=org.freedesktop.secrets\nExec=\(command)\n")
    #expect(try tree.examine().gaps.map(\.cause.code) == (isOther ? ["notModelled"] : []))
    if isOther { #expect(try defaults(tree).isEmpty) }
    // Of a service with another name nothing follows.
    try tree.write("/usr/share/dbus-1/services/org.freedesktop.secrets.service", "[D-BUS Service]\nName=x\nExec=/x\n")
    #expect(try tree.examine().gaps.isEmpty)
  }

  @Test(arguments: [
    ("/usr/bin/keepassxc", "", false), ("", "Enabled=true", false), ("", "Enabled=false", true), ("", "", true),
  ])
  func `where KeePassXC serves, older files of others count no more`(started: String, word: String, isDefault: Bool)
    throws
  {
    let tree = try tree(["\(Self.keyrings)/login.keyring": KeyringGnomeTests.plain, "/usr/bin/keepassxc": ""])
    try tree.write("/home/alice/.config/keepassxc/keepassxc.ini", "[FdoSecrets]\n\(word)\n")
    if !started.isEmpty {
      try tree.write(
        "/usr/share/dbus-1/services/org.freedesktop.secrets.service",
        "[D-BUS Service]\nName=org.freedesktop.secrets\nExec=\(started)\n")
    }
    #expect(try tree.door("secrets@gnome-keyring:login")?.isDefault == isDefault)
    try tree.write("/usr/bin/gnome-keyring-daemon", "")
    #expect(try tree.door("secrets@gnome-keyring:login")?.isDefault == true)
  }

  @Test func `settings of KWallet, the person's and the machine's`() throws {
    for (own, common, isDefault) in [
      ("", "", true), ("[Wallet]\nEnabled=false\n", "", false), ("[Wallet]\nEnabled=0\n", "", false),
      ("[Wallet]\nEnabled=off\n", "", false), ("", "[Wallet]\nEnabled=false\n", false),
      ("[Wallet]\nEnabled=true\n", "[Wallet]\nEnabled=false\n", true),
      ("[Wallet]\nEnabled=true\n", "[Wallet]\nEnabled[$i]=false\n", false),
      ("[Wallet]\nDefault Wallet=other\n", "", false), ("[Other]\nEnabled=false\n", "", true),
    ] {
      let tree = try tree(["/home/alice/.config/kwalletrc": own, "/etc/xdg/kwalletrc": common])
      try tree.write("/home/alice/.local/share/kwalletd/kdewallet.kwl", "KWALLET\n\r\0\r\n")
      #expect(try tree.door("secrets@kwallet:kdewallet")?.isDefault == isDefault, "\(own) \(common)")
    }
  }

  @Test func `another place for data`() throws {
    for (file, text, folder) in [
      ("/home/alice/.config/environment.d/10.conf", "A=b\nXDG_DATA_HOME=$HOME/.data\n", ".data"),
      ("/home/alice/.config/environment.d/10.conf", "XDG_DATA_HOME=\"${HOME}/x/y/\"\n", "x/y"),
      ("/home/alice/.pam_environment", "XDG_DATA_HOME DEFAULT=@{HOME}/.data\n", ".data"),
      ("/etc/environment", "XDG_DATA_HOME=/home/alice/.data\n", ".data"),
      ("/etc/environment", "XDG_DATA_HOME=/srv/data\n", ".local/share"),
      ("/etc/environment", "XDG_DATA_HOME=/home/alice/../bob\n", ".local/share"),
      ("/etc/environment", "#XDG_DATA_HOME=/home/alice/.data\n", ".local/share"),
    ] {
      let tree = try tree([file: text, "/home/alice/\(folder)/keyrings/login.keyring": KeyringGnomeTests.plain])
      try tree.write("/home/alice/\(folder)/kwalletd/kdewallet.kwl", "KWALLET\n\r\0\r\n")
      #expect(try defaults(tree) == ["secrets@gnome-keyring:login", "secrets@kwallet:kdewallet"], "\(text)")
    }
  }

  // MARK: Whose

  @Test func `only the users that were asked for are reported`() throws {
    let key = "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n"
    let tree = try tree([
      "\(Self.keyrings)/login.keyring": KeyringGnomeTests.plain, "/root/.ssh/id_rsa": key,
      "/etc/fstab": "/dev/sda1 / ext4 x 0 1\n", "/usr/bin/keepassxc": "",
      "/home/alice/.config/keepassxc/keepassxc.ini": "[FdoSecrets]\nEnabled=true\n",
    ])
    func look(_ users: [String]) throws -> ProbeResult {
      KeyringProbe(users: users).run(on: try System(root: tree.root))
    }
    #expect(Set(try look([]).doors.map(\.subject)) == ["*", "alice", "root"])
    #expect(Set(try look(["alice"]).doors.map(\.subject)) == ["*", "alice"])
    #expect(Set(try look(["root"]).doors.map(\.subject)) == ["*", "root"])
    #expect(Set(try look(["root"]).remarks.map(\.subject)).subtracting(["*"]).isEmpty)
    #expect(Set(try look(["alice"]).remarks.map(\.subject)).contains("alice"))
    // A gap belongs to whoever's home it is in.
    tree.makeFolder("/root/.ssh")
    for number in 0..<600 { try tree.overwrite("/root/.ssh/key\(number)", []) }
    #expect(try look(["root"]).gaps.count == 1 && look(["alice"]).gaps.isEmpty)
  }

  private static let agent = "\(Repository.products)/posture-agent"

  /// The agent as somebody who may look into nobody's home.
  @Test(.enabled(if: geteuid() == 0 && Tools.has("/usr/bin/setpriv", agent)), .timeLimit(.minutes(1)))
  func `a home that may not be looked into is unknown, and of no consequence to others`() throws {
    let tree = try tree(["/home/alice/.ssh/id_rsa": "x", "/etc/fstab": "/dev/sda1 / ext4 x 0 1\n"])
    chmod(tree.place("/home/alice"), 0o700)
    var keyring: String?
    func rows(_ arguments: String...) throws -> [(String, String)] {
      var command = Command(
        "/usr/bin/setpriv",
        ["--reuid=54321", "--regid=54321", "--clear-groups", Self.agent, "check", "--root", tree.root, "--json"]
          + arguments)
      command.timeout = 30_000
      let json = try JSONParser.parse(try command.run().out, limits: .foreign)
      keyring = (json["checks"]?.array ?? []).first { $0["check"]?.string == "keyring" }?["result"]?.string
      return (json["doors"]?.array ?? []).filter { $0["class"]?.string == "secret" }.map {
        ($0["door"]?.string ?? "", $0["answer"]?.string ?? "")
      }
    }
    #expect(try rows().contains { $0 == ("home:alice", "unknown") })
    #expect(try !rows("--user", "root").contains { $0.0 == "home:alice" })
    // One that is known to be encrypted keeps its row, and what is in it is not known either way.
    try tree.write("/var/lib/systemd/home/alice.identity", Self.luksHome("alice"))
    #expect(try rows().filter { $0.0 == "home:alice" }.map(\.1) == ["required"])
    #expect(keyring == "not-run")
  }

  // MARK: Homes

  @Test func `homes of systemd-homed by what this machine made of them`() throws {
    let mine = String(repeating: "0a", count: 16)
    let bound = "\"binding\":{\"other\":{\"storage\":\"directory\"},\"\(mine)\":{\"storage\":\"luks\"}}"
    func section(_ match: String) -> String {
      "\"binding\":{\"\(mine)\":{}},\"perMachine\":[{\(match),\"storage\":\"directory\"}],\"storage\":\"luks\""
    }
    for (record, id, opening) in [
      (bound, mine, Opening.passcode), (bound, "", nil), (section("\"matchMachineId\":\"\(mine)\""), mine, .always),
      (section("\"matchMachineId\":[\"x\",\"\(mine)\"]"), mine, .always),
      (section("\"matchMachineId\":\"x\""), mine, .passcode),
      (section("\"matchMachineId\":\"\(mine)\""), "", nil), (section("\"matchHostname\":\"box\""), mine, .always),
      (section("\"matchHostname\":\"other\""), mine, .passcode),
    ] as [(String, String, Opening?)] {
      let tree = try FixtureTree(["/etc/hostname": "box\n", "/etc/machine-id": "\(id)\n"])
      try tree.write(
        "/var/lib/systemd/home/bob.identity",
        "{\"userName\":\"bob\",\"privileged\":{\"hashedPassword\":[\"$6$x$y\"]},\(record)}")
      #expect(try tree.door("home:bob")?.opening == opening, "\(record) \(id)")
    }
  }

  @Test func `homes of systemd-homed whose password is empty`() throws {
    func record(_ secrets: String) -> String {
      "{\"userName\":\"bob\",\"storage\":\"luks\"\(secrets),\"binding\":{\"id\":{\"storage\":\"luks\"}}}"
    }
    // crypt(3) of nothing and of something else, with few rounds.
    let setting = "$6$rounds=1000$abcdefgh$"
    let empty = try #require(HashTrial.hashOfEmpty(setting))
    for (secrets, answer) in [
      (",\"privileged\":{\"hashedPassword\":[\"\(empty)\"]}", Answer.notRequired),
      (",\"privileged\":{\"hashedPassword\":[\"\"]}", .notRequired),
      (",\"privileged\":{\"hashedPassword\":[\"\(setting)\(String(repeating: "A", count: 86))\"]}", .required),
      (",\"privileged\":{}", .closed), ("", .unknown),
    ] {
      let tree = try FixtureTree(["/var/lib/systemd/home/bob.identity": record(secrets)])
      #expect(try tree.door("home:bob")?.answer == answer, "\(secrets)")
    }
  }

  private static func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] {
    [number << 3 | 2, UInt8(bytes.count)] + bytes
  }

  /// Alice's login passphrase, or one of its own.
  private static func protector(source: UInt8) -> [UInt8] {
    field(1, Array("p".utf8)) + [2 << 3, source] + [6 << 3, UInt8(1000 & 127) | 128, UInt8(1000 >> 7)]
  }

  private static func luksHome(_ name: String) -> String {
    "{\"userName\":\"\(name)\",\"storage\":\"luks\",\"privileged\":{\"hashedPassword\":[\"$6$x$y\"]}}"
  }

  @Test func `a home of systemd-homed is none of fscrypt's, whoever else knows the person`() throws {
    let tree = try tree(["/etc/fstab": "/dev/sda1 / ext4 x 0 1\n"])
    try tree.write("/.fscrypt/policies/k", Self.policy)
    try tree.write("/.fscrypt/protectors/p", Self.protector(source: 1))
    #expect(try tree.doors().filter { $0.name == "home:alice" }.map { $0.because[0].code } == ["fscrypt.protector"])
    try tree.write("/var/lib/systemd/home/alice.identity", Self.luksHome("alice"))
    #expect(try tree.doors().filter { $0.name == "home:alice" }.map { $0.because[0].code } == ["homed.luks"])
  }

  private static let policy = field(1, Array("k".utf8)) + field(3, field(1, Array("p".utf8)))

  @Test func `a login protector is kept on the root file system, with a link beside the policy`() throws {
    let tree = try tree(["/etc/fstab": "/dev/sda1 / ext4 x 0 1\n/dev/sda2 /home ext4 x 0 2\n"])
    try tree.write("/home/.fscrypt/policies/k", Self.policy)
    try tree.write("/.fscrypt/protectors/p", Self.protector(source: 1))
    #expect(try tree.door("home:alice") == nil)
    try tree.write("/home/.fscrypt/protectors/p.link", "UUID=11\nPATH=/\n")
    #expect(try tree.door("home:alice")?.opening == .passcode)
  }

  private static let canMount =
    geteuid() == 0 && Tools.has("/sbin/mkfs.ext4", "/usr/bin/python3") && access("/dev/loop-control", F_OK) == 0

  /// A real file system with a real policy (FS_IOC_SET_ENCRYPTION_POLICY, version 1, which needs no key).
  @Test(.enabled(if: canMount), .timeLimit(.minutes(1)))
  func `the kernel says which policy a home has`() throws {
    let folder = try Folder()
    try Tools.run(
      "/bin/sh",
      [
        "-ec",
        """
        cd \(folder.path)
        truncate -s 32M image; /sbin/mkfs.ext4 -q -O encrypt image; mkdir mount; mount -o loop image mount
        mkdir -p mount/home/alice mount/home/bob mount/.fscrypt/policies mount/.fscrypt/protectors
        """,
      ])
    defer { _ = try? Tools.run("/bin/umount", [folder.file("mount")]) }
    let set = """
      import fcntl, os
      fd = os.open("\(folder.file("mount/home/alice"))", os.O_RDONLY)
      fcntl.ioctl(fd, 0x800c6613, bytes([0, 1, 4, 0, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]))
      """
    try Tools.run("/usr/bin/python3", ["-c", set])
    let system = try System(root: folder.file("mount"))
    #expect(FSCryptPolicy(system, "/home/alice") == .is("0123456789abcdef"))
    // A copy of a tree has no policies, whatever its homes had.
    #expect(FSCryptPolicy(system, "/home/bob") == .unknown)
    try folder.write("mount/.fscrypt/policies/0123456789abcdef", String(decoding: Self.policy, as: UTF8.self))
    try AtomicFile.write(Self.protector(source: 2), to: folder.file("mount/.fscrypt/protectors/p"))
    let people = try tree()
    let alice = try #require(Accounts(try people.system())["alice"])
    let metadata = FSCrypt(system, mount: "/", others: [])
    let door = try #require(FSCryptDoors.door(alice, metadata, .is("0123456789abcdef")))
    #expect(door.opening == .passcode && door.whose == .own)
    #expect(FSCryptDoors.door(alice, metadata, .none) == nil)
    #expect(FSCryptDoors.door(alice, metadata, .is("00"))?.answer == .unknown)
  }
}

extension FixtureTree {
  func system() throws -> System { try System(root: root, now: 1_700_000_000) }
}
