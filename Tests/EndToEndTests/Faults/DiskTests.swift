import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

extension FaultTests {
  @Test func `the disk is full, and later read-only`() throws {
    try SmallDisk.with(kilobytes: 4_096) { disk in
      var options = Rig.Options()
      options.disk = disk.path
      let rig = try Rig(options)
      try rig.start()
      #expect(rig.isSettled(10_000))
      let before = try rig.usage()
      try disk.fill()
      // Reports and answers go on; the change is told of now, its event follows when there is room.
      try rig.change(open: true)
      #expect(try rig.recheck()["verdict"]?.string == "fail")
      let load = try Load(rig)
      usleep(Long.isWanted ? 10_000_000 : 1_000_000)
      let reports = try load.stop(rig)
      let wasStuck = rig.status()?["journal"]?["error"]?.string
      disk.empty()
      // The next change is written down, and with it what waited.
      try rig.change(open: !rig.isOpen)
      #expect(try rig.recheck()["verdict"]?.string == (rig.isOpen ? "fail" : "pass"))
      usleep(300_000)
      #expect(rig.status()?["journal"]?["error"] == nil)
      // Both begin on a disk that takes nothing: not enrolled is not what they say, and they do not give up.
      for isFull in [true, false] {
        rig.crashCourier()
        rig.crashAttester()
        if isFull { try disk.fill() } else { try disk.set(readOnly: true) }
        try rig.startAttester()
        try rig.startCourier()
        usleep(1_500_000)
        #expect(rig.courier?.status == nil)
        if isFull { disk.empty() } else { try disk.set(readOnly: false) }
        // Its service manager starts it again.
        if rig.attester?.status != nil { try rig.startAttester() }
        #expect(rig.isSettled(60_000), "\(rig.silence(isFull ? "full" : "read-only"))")
      }
      try rig.conclude(
        "disk full (\(reports) examinations meanwhile, journal: \(wasStuck ?? "had room left")), restart on a full and on a read-only one; before \(before.attester)",
        since: nil)
    }
  }
}
