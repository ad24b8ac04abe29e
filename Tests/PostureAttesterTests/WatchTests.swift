import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureAttester

@Suite struct WatchPlanTests {
  private func plan(
    _ visited: [String], listed: Set<String> = [], _ nodes: [String: WatchPlan.Node]
  ) -> [String: WatchPlan.Interest] {
    WatchPlan(visited: visited, listed: listed) { nodes[$0] ?? .missing }.interests
  }

  @Test func `a file is watched in its folder, under its name`() {
    let nodes: [String: WatchPlan.Node] = ["/etc": .directory, "/etc/passwd": .other, "/etc/shadow": .other]
    #expect(plan(["/etc/passwd", "/etc/shadow"], nodes) == ["/etc": .names(["passwd", "shadow"])])
  }

  @Test func `a folder that was listed counts as a whole`() {
    let nodes: [String: WatchPlan.Node] = ["/etc": .directory, "/etc/d": .directory]
    #expect(plan(["/etc/d"], listed: ["/etc/d"], nodes) == ["/etc": .names(["d"]), "/etc/d": .all])
    #expect(plan(["/"], listed: ["/"], nodes) == ["/": .all])
  }

  @Test func `what is missing is waited for where it would begin`() {
    #expect(plan(["/etc/polkit-1/rules.d/x"], ["/etc": .directory]) == ["/etc": .names(["polkit-1"])])
    #expect(plan(["/etc/x/y"], [:]) == ["/": .names(["etc"])])
  }

  @Test func `links are followed, and watched themselves`() {
    let nodes: [String: WatchPlan.Node] = [
      "/etc": .directory, "/etc/a": .link("../usr/a"), "/usr": .directory, "/usr/a": .link("/run/b"),
      "/run": .directory, "/run/b": .other,
    ]
    #expect(
      plan(["/etc/a"], nodes) == ["/etc": .names(["a"]), "/usr": .names(["a"]), "/run": .names(["b"])])
  }

  @Test func `loops of links end, and what the kernel tells nothing of is left out`() {
    let loop: [String: WatchPlan.Node] = ["/a": .link("/b"), "/b": .link("a")]
    #expect(plan(["/a/x"], loop) == ["/": .names(["a", "b"])])
    #expect(plan(["/proc/mounts", "/sys/class/x"], ["/proc": .directory, "/sys": .directory]).isEmpty)
    #expect(plan(["/../../etc/./x"], ["/etc": .directory, "/etc/x": .other]) == ["/etc": .names(["x"])])
  }
}

@Suite(.serialized) struct WatcherTests {
  /// Waits for the next change at most so long; nil: none came.
  private func change(_ watcher: Watcher, within milliseconds: Int64 = 1_500) -> Int64? {
    let began = Clock.boottimeMilliseconds
    while true {
      let left = began + milliseconds - Clock.boottimeMilliseconds
      guard left > 0 else { return nil }
      var polled = pollfd(fd: watcher.descriptor, events: Int16(POLLIN), revents: 0)
      let until = watcher.deadline.map { $0 - Clock.boottimeMilliseconds } ?? left
      if poll(&polled, 1, Int32(max(0, min(left, until)))) > 0 { watcher.collect() }
      if watcher.settle() { return Clock.boottimeMilliseconds - began }
    }
  }

  private func examination(_ visited: [String], listed: Set<String> = []) -> Examination {
    var examination = Examination(began: Clock.fileNanoseconds + 5_000_000_000)
    examination.visited = Set(visited)
    examination.listed = listed
    return examination
  }

  @Test func `each way to change a file is noticed once`() throws {
    let tree = try FixtureTree(["/etc/shadow": "a", "/etc/other": "x", "/etc/rules.d/10-a.rules": "r"])
    let watcher = Watcher(root: tree.root)
    let paths = ["/etc/shadow", "/etc/rules.d", "/etc/rules.d/10-a.rules", "/etc/sudoers.d/x"]
    let look = examination(paths, listed: ["/etc/rules.d"])
    watcher.follow(look)
    #expect(watcher.coverage == .complete)
    let ways: [(String, () throws -> Void)] = [
      ("in place", { try Files.write([1, 2], to: tree.place("/etc/shadow")) }),
      ("by rename", { try tree.write("/etc/shadow", "new") }),
      ("mode", { chmod(tree.place("/etc/shadow"), 0o666) }),
      ("a rule added", { try tree.write("/etc/rules.d/20-b.rules", "r") }),
      ("a rule gone", { unlink(tree.place("/etc/rules.d/10-a.rules")) }),
      ("a missing folder", { mkdir(tree.place("/etc/sudoers.d"), 0o755) }),
      ("gone", { unlink(tree.place("/etc/shadow")) }),
      ("a folder replaced", { rename(tree.place("/etc/rules.d"), tree.place("/etc/rules.old")) }),
    ]
    for (name, way) in ways {
      let before = watcher.number
      try way()
      let took = change(watcher)
      #expect(took != nil && took! < 1_200, "\(name): \(took ?? -1)")
      #expect(watcher.number == before + 1, "\(name)")
      watcher.follow(look)
      _ = change(watcher, within: 300)
    }
  }

  @Test func `what was not asked for is passed over`() throws {
    let tree = try FixtureTree(["/etc/shadow": "a", "/etc/other": "x"])
    let watcher = Watcher(root: tree.root)
    watcher.follow(examination(["/etc/shadow"]))
    try tree.write("/etc/other", "y")
    _ = try Files.read(tree.place("/etc/shadow"))
    #expect(change(watcher, within: 600) == nil)
  }

  @Test func `a storm of writes counts as few changes, and in the end as fewer`() throws {
    let tree = try FixtureTree(["/etc/shadow": "a"])
    let watcher = Watcher(root: tree.root)
    watcher.follow(examination(["/etc/shadow"]))
    let end = Clock.boottimeMilliseconds + 2_600
    var changes = 0
    while Clock.boottimeMilliseconds < end {
      try Files.write([1], to: tree.place("/etc/shadow"))
      if change(watcher, within: 20) != nil { changes += 1 }
    }
    #expect((2...4).contains(changes))
  }

  @Test func `what changed while nobody watched yet counts`() throws {
    let tree = try FixtureTree(["/etc/shadow": "a"])
    let watcher = Watcher(root: tree.root)
    var look = examination(["/etc/shadow"])
    look.began = Clock.fileNanoseconds
    try tree.write("/etc/shadow", "b")
    watcher.follow(look)
    #expect(change(watcher) != nil)
    // Only once: now it is watched.
    watcher.follow(look)
    #expect(change(watcher, within: 600) == nil)
  }

  /// An examination of its own for what the first has seen would be one too many.
  @Test func `what changed just before the look does not count`() throws {
    for _ in 0..<5 {
      let tree = try FixtureTree(["/etc/shadow": "a"])
      let watcher = Watcher(root: tree.root)
      // Some ticks of the clock that times of files are of.
      usleep(30_000)
      var look = examination(["/etc/shadow"])
      look.began = Clock.fileNanoseconds
      watcher.follow(look)
      #expect(change(watcher, within: 250) == nil)
    }
  }

  @Test func `whole seconds of a file system stand for what follows them`() {
    #expect(Watcher.latest(timespec(tv_sec: 7, tv_nsec: 5)) == 7_000_000_005)
    #expect(Watcher.latest(timespec(tv_sec: 7, tv_nsec: 0)) == 8_999_999_999)
  }

  @Test func `a link's target is watched too`() throws {
    let tree = try FixtureTree(["/usr/lib/common": "a"])
    tree.link("/etc/common", to: "../usr/lib/common")
    let watcher = Watcher(root: tree.root)
    watcher.follow(examination(["/etc/common"]))
    try Files.write([1], to: tree.place("/usr/lib/common"))
    #expect(change(watcher) != nil)
  }

  @Test func `beyond the limit of watches it says so`() throws {
    let tree = try FixtureTree([:])
    let paths = (0...50).map { "/d\($0)/f" }
    for path in paths { mkdir(tree.place(Path.folder(of: path)), 0o755) }
    let watcher = Watcher(root: tree.root, most: 50)
    watcher.follow(examination(paths))
    #expect(watcher.coverage == .partial)
    #expect(watcher.directories == 50)
  }

  /// A tmpfs in the place of NFS: what another machine changes there nobody tells of.
  @Test(.enabled(if: SmallDisk.isPossible, "mounts a small file system"))
  func `on a file system of another machine it says so, and watches what it can`() throws {
    try SmallDisk.with { disk in
      mkdir("\(disk.path)/etc", 0o755)
      let watcher = Watcher(root: disk.path, silent: [0x0102_1994])
      watcher.follow(examination(["/etc/shadow"]))
      #expect(watcher.coverage == .partial)
      #expect(change(watcher, within: 400) == nil)
      try Files.write([1], to: "\(disk.path)/etc/shadow")
      #expect(change(watcher) != nil)
      let ordinary = Watcher(root: disk.path)
      ordinary.follow(examination(["/etc/shadow"]))
      #expect(ordinary.coverage == .complete)
    }
  }
}
