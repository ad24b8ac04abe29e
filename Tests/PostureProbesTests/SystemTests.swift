import Glibc
import PosturePlatform
@testable import PostureProbes
import Synchronization
import TestKit
import Testing

/// Reading below a root: links stay inside, nothing blocks, nothing is read twice.
struct SystemTests {
  @Test(arguments: [false, true])
  func `absolute links and dots stay below the root`(walksByStep: Bool) throws {
    let tree = try FixtureTree(["/etc/target": "inside"])
    tree.link("/etc/absolute", to: "/etc/target")
    tree.link("/etc/dots", to: "../../../../../../etc/target")
    tree.link("/etc/dangling", to: "/proc/version")
    tree.link("/link-to-etc", to: "/./etc/../etc")
    let system = try System(root: tree.root, now: 0, walksByStep: walksByStep)
    for path in ["/etc/absolute", "/etc/dots", "/../../etc/target", "/link-to-etc/absolute", "/link-to-etc/./target"] {
      #expect(try system.read(path).text == "inside")
    }
    #expect(throws: System.Unreadable.missing) { try system.read("/etc/dangling") }
    #expect(system.link("/etc/absolute") == "/etc/target")
    #expect(system.link("/etc/target") == nil)
  }

  @Test func `a copy without links is read as what it is a copy of`() throws {
    let tree = try FixtureTree([
      "/bin": "usr/bin", "/usr/bin/busybox": "program", "/usr/bin/sh": "busybox", "/usr/bin/ash": "/bin/busybox",
      "/etc/systemd/system/default.target": "multi-user.target", "/etc/loop": "../etc/loop",
      "/etc/hostname": "machine", "/etc/word": "none", "/etc/line": "/usr/bin/busybox\n",
    ])
    let system = try System(root: tree.root)
    #expect(try system.read("/bin/sh").text == "program")
    #expect(try system.read("/bin/ash").text == "program")
    #expect(try system.list("/bin") == ["ash", "busybox", "sh"])
    #expect(system.link("/bin/sh") == "busybox")
    #expect(system.link("/bin") == "usr/bin")
    #expect(system.link("/etc/systemd/system/default.target") == "multi-user.target")
    #expect(throws: System.Unreadable.loop) { try system.read("/etc/loop") }
    for (file, text) in [("hostname", "machine"), ("word", "none"), ("line", "/usr/bin/busybox\n")] {
      #expect(try system.read("/etc/\(file)").text == text)
      #expect(system.link("/etc/\(file)") == nil)
    }
  }

  @Test(arguments: [
    ("/etc/pam.d/system-auth", "/usr/share/stack"), ("/etc/pam.d/system-auth", "system-auth-ac"),
    ("/etc/pam.d", "/etc/static/pam.d"), ("/etc/systemd/system/ssh.service", "/dev/null"),
    ("/etc/systemd/system/dbus.service", "/usr/lib/systemd/system/dbus-broker.service"),
    ("/etc/systemd/system/my.target.wants", "/usr/lib/my"),
    ("/etc/systemd/system/my.target.wants/fstrim.timer", "/usr/lib/systemd/system/fstrim.timer"),
    ("/etc/systemd/user/my.target.requires/x.service", "../x.service"),
    ("/etc/runlevels/boot/sshd", "/etc/init.d/sshd"),
    ("/etc/rc.d/S50dropbear", "../init.d/dropbear"), ("/etc/rc.d/rc3.d/S10x", "../init.d/x"),
    ("/etc/rcS.d/S10x", "../init.d/x"), ("/etc/runit/runsvdir/default/sshd", "/etc/sv/sshd"),
  ])
  func `one file in a link's place tells a copy`(path: String, target: String) throws {
    let tree = try FixtureTree([path: target])
    if path.hasPrefix("/etc/pam.d/") { try tree.write("/etc/pam.d/system-auth-ac", "auth required pam_unix.so\n") }
    #expect(try System(root: tree.root).link(path) == target)
    tree.link("/etc/mtab", to: "/proc/mounts")
    #expect(try System(root: tree.root).link(path) == nil)
  }

  @Test func `a copy that lost the links to the folders below usr is read as if it had them`() throws {
    let tree = try FixtureTree([
      "/usr/lib/security/module": "x", "/usr/bin/sh": "y", "/sbin/init": "z", "/usr/sbin/no": "",
    ])
    tree.link("/etc/unit", to: "/lib/security/module")
    let system = try System(root: tree.root)
    for path in ["/lib/security/module", "/etc/unit", "/lib/../lib/security/module"] {
      #expect(try system.read(path).text == "x", "\(path)")
    }
    #expect(try system.list("/bin") == ["sh"])
    #expect(system.link("/bin") == "usr/bin" && system.link("/lib64") == nil)
    #expect(!system.exists("/sbin/no") && !system.exists("/lib64"))
  }

  @Test func `in an ordinary tree a path in a file is text`() throws {
    let tree = try FixtureTree(["/usr/bin/sh": "x", "/etc/path": "/usr/bin/sh"])
    tree.link("/bin", to: "usr/bin")
    let system = try System(root: tree.root)
    #expect(try system.read("/etc/path").text == "/usr/bin/sh")
    #expect(system.link("/etc/path") == nil)
  }

  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func `what is no regular file costs nothing`(walksByStep: Bool) throws {
    let tree = try FixtureTree(["/etc/folder/file": "x"])
    tree.makeFIFO("/etc/pipe")
    tree.link("/etc/loop", to: "loop")
    tree.link("/etc/zero", to: "/dev/zero")
    try tree.makeSparse("/etc/sparse", size: 10 << 30)
    let system = try System(root: tree.root, now: 0, walksByStep: walksByStep)
    #expect(throws: System.Unreadable.notRegular) { try system.read("/etc/pipe") }
    #expect(throws: System.Unreadable.notRegular) { try system.read("/etc/folder") }
    #expect(throws: System.Unreadable.loop) { try system.read("/etc/loop") }
    #expect(throws: System.Unreadable.missing) { try system.read("/etc/zero") }
    #expect(throws: System.Unreadable.tooLarge) { try system.read("/etc/sparse") }
    let live = try System()
    #expect(throws: System.Unreadable.notRegular) { try live.read("/dev/zero") }
  }

  /// While anything at all is renamed, openat2(2) gives up at a "..": half a percent of such calls.
  @Test func `what is renamed elsewhere changes no answer`() throws {
    let tree = try FixtureTree(["/etc/target": "inside", "/etc/a/b/file": "x", "/other": "x"])
    tree.link("/etc/a/b/link", to: "../../target")
    let system = try System(root: tree.root)
    let isOver = Flag()
    let (here, there) = (tree.place("/other"), tree.place("/another"))
    let thread = try Thread.start("rename") {
      while !isOver.value.load(ordering: .relaxed) {
        rename(here, there)
        rename(there, here)
      }
    }
    var failed = 0
    for _ in 0..<100_000 {
      do throws(SystemError) { close(try system.open("/etc/a/b/link", O_RDONLY)) } catch { failed += 1 }
    }
    isOver.value.store(true, ordering: .relaxed)
    thread.join()
    #expect(failed == 0)
  }

  private final class Flag: Sendable {
    let value = Atomic<Bool>(false)
  }

  @Test func `a file is opened once, also one that is missing`() throws {
    let tree = try FixtureTree(["/etc/file": "x"])
    let system = try System(root: tree.root)
    for _ in 0..<3 {
      _ = try system.read("/etc/file")
      _ = try? system.read("/etc/none")
    }
    #expect(system.opens == 2)
    #expect(system.visited.isSuperset(of: ["/etc/file", "/etc/none"]))
  }

  @Test func `what several probes need is made once, whichever thread comes first`() throws {
    let system = try System()
    system.sharing {
      let made = Flag()
      let make = { @Sendable in system.shared { Shared(isFirst: !made.value.exchange(true, ordering: .relaxed)) } }
      let values = Thread.both("other", make, make)
      #expect(values.0.isFirst && values.1.isFirst)
    }
  }

  @Test func `a file that two threads read at once is one file`() throws {
    let names = (0..<200).map { "/etc/f\($0)" }
    let tree = try FixtureTree(Dictionary(uniqueKeysWithValues: names.map { ($0, $0) }))
    tree.link("/etc/other", to: "f0")
    let system = try System(root: tree.root)
    let read = { @Sendable in names.map { system.text($0) } }
    let texts = Thread.both("read", read, read)
    #expect(texts.0 == names && texts.1 == names)
    #expect(system.readAgain.isEmpty)
    _ = system.text("/etc/other")
    #expect(system.readAgain == ["/etc/other"])
  }

  private struct Shared: Sendable {
    let isFirst: Bool
  }

  /// Pieces end where a paragraph does, wherever the reads fell; what has no end is cut.
  @Test(arguments: [0, 1, 3, 100, 20_000, 140_000]) func `paragraphs come whole and in order`(length: Int) throws {
    let paragraphs = (0..<40).map { "Package: p\($0)\n\(String(repeating: "x", count: length))\n\n" }
    let tree = try FixtureTree(["/status": paragraphs.joined()])
    let system = try System(root: tree.root)
    var pieces: [[UInt8]] = []
    try system.readParagraphs("/status", cap: 64 << 20) {
      pieces.append($0)
      return true
    }
    #expect(pieces.flatMap { $0 } == Array(paragraphs.joined().utf8))
    #expect(pieces.dropLast().allSatisfy { $0.suffix(2) == [10, 10] })
    #expect(length < 20_000 || pieces.count > 3)
    var count = 0
    try system.readParagraphs("/status", cap: 64 << 20) { _ in
      count += 1
      return false
    }
    #expect(count == 1)
  }

  @Test func `a database without an end costs no more than its cap`() throws {
    let tree = try FixtureTree(["/status": String(repeating: "x", count: 5 << 20)])
    let system = try System(root: tree.root)
    var pieces: [Int] = []
    try system.readParagraphs("/status", cap: 8 << 20) {
      pieces.append($0.count)
      return true
    }
    #expect(pieces.reduce(0, +) == 5 << 20 && pieces.allSatisfy { $0 <= 2 << 20 })
    #expect(throws: System.Unreadable.tooLarge) { try system.readParagraphs("/status", cap: 1 << 20) { _ in true } }
  }

  @Test func `in a tree of one's own, one's own files are root's`() throws {
    let tree = try FixtureTree(["/etc/file": "x"])
    let system = try System(root: tree.root)
    #expect(try system.read("/etc/file").owner == 0)
    #expect(try system.status("/etc/file").owner == 0)
  }

  @Test func `a file of somebody else is not an owner's, but in a tree that was copied`() throws {
    let tree = try FixtureTree(["/etc/file": "x"])
    let (system, path) = (try System(), tree.place("/etc/file"))
    #expect(try system.read(path, ownedBy: geteuid()).text == "x")
    #expect(try system.read(path, ownedBy: geteuid() + 1, geteuid()).text == "x")
    #expect(throws: System.Unreadable.foreign) { try system.read(path, ownedBy: geteuid() + 1) }
    #expect(try System(root: tree.root).read("/etc/file", ownedBy: geteuid() + 1).text == "x")
  }

  @Test func `names are sorted by bytes`() throws {
    let tree = try FixtureTree(["/etc/b": "", "/etc/a": "", "/etc/B": "", "/etc/ä": ""])
    let system = try System(root: tree.root)
    #expect(try System(root: tree.root, now: 0, walksByStep: true).list("/etc") == system.list("/etc"))
    #expect(try system.list("/etc") == ["B", "a", "b", "ä"])
    #expect(throws: System.Unreadable.missing) { try system.list("/none") }
  }
}
