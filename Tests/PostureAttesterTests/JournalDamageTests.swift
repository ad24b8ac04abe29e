import Glibc
import Posture
import PosturePlatform
import Synchronization
import TestKit
import Testing

@testable import PostureAttester
@testable import PostureTokens

/// Whatever happens to the files: no number of a key twice, no event number of one chain twice with another content, and
/// either everything is as it was or a new chain says why it is not.
@Suite(.serialized) struct JournalDamageTests {
  private static let parts = [Journal.fileName, "\(Journal.fileName)-wal", Journal.marksName]

  /// A journal as a killed process leaves it, with the newest changes in the log only; or as one that has ended does.
  private func worn(
    _ folder: String, _ device: TestDevice, ended: Bool
  ) throws -> (last: Int64, chain: ReportClaims.ChainHead) {
    var last: Int64 = 0
    var attester: Attester? = try device.attester()
    for round in 0..<12 {
      last = try device.report(attester!.look(open: round % 2 == 0)).sequence
      if round == 5 { _ = try attester!.presence(.init(id: "connection-1")) }
    }
    let chain = attester!.journal.ledger.chain.claim
    if ended { attester = nil }
    for name in Self.parts where Files.exists("\(folder)/\(name)") {
      try Files.copy("\(folder)/\(name)", to: "\(folder)/kept-\(name)")
    }
    return (last, chain)
  }

  private func restore(_ folder: String) throws {
    for name in Self.parts { try Files.copy("\(folder)/kept-\(name)", to: "\(folder)/\(name)") }
    for name in ["\(Journal.fileName)-shm", "\(Journal.fileName).damaged"] { Files.remove("\(folder)/\(name)") }
  }

  private enum Outcome { case asBefore, newChain }

  private func reopen(
    _ device: TestDevice, last: Int64, chain: ReportClaims.ChainHead, _ what: String
  ) throws -> Outcome {
    let attester = try device.attester()
    let report = try device.report(attester.look(open: true))
    #expect(report.sequence > last, "\(what): sequence \(report.sequence) after \(last)")
    let events = try device.events(attester)
    if report.chain.chain == chain.chain {
      #expect(report.chain.number >= chain.number, "\(what): the chain goes back")
      let continues = events.contains { $0.number == chain.number && SHA256.text(of: $0.claims.bytes) == chain.digest }
      #expect(continues, "\(what): the chain forks")
      return .asBefore
    }
    guard case .start(let reason) = events.first?.body else {
      Issue.record("\(what): a chain without a reason")
      return .newChain
    }
    #expect([.damagedStore, .lostStore].contains(reason), "\(what): \(reason)")
    return .newChain
  }

  @Test(arguments: [true, false]) func `bytes flipped anywhere`(ended: Bool) throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let (last, chain) = try worn(folder, device, ended: ended)
      let isLong = Long.isWanted
      var counts: [String: (asBefore: Int, newChain: Int)] = [:]
      for name in Self.parts where Files.exists("\(folder)/kept-\(name)") {
        let size = try Files.read("\(folder)/kept-\(name)").count
        // The first bytes are headers; the rest is sampled.
        let step = max(1, size / (isLong ? 400 : 24))
        for offset in Set(Array(stride(from: 0, to: size, by: step)) + Array(0..<min(size, isLong ? 100 : 12))) {
          try restore(folder)
          var bytes = try Files.read("\(folder)/\(name)")
          bytes[offset] ^= UInt8.random(in: 1...255)
          try Files.write(bytes, to: "\(folder)/\(name)")
          switch try reopen(device, last: last, chain: chain, "\(name) at \(offset)") {
          case .asBefore: counts[name, default: (0, 0)].asBefore += 1
          case .newChain: counts[name, default: (0, 0)].newChain += 1
          }
        }
      }
      for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
        print(
          "flipped in \(name) (\(ended ? "ended" : "killed")): \(count.asBefore) as before, \(count.newChain) new chains"
        )
      }
    }
  }

  @Test func `files cut off anywhere, emptied, gone`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let (last, chain) = try worn(folder, device, ended: false)
      var outcomes = (asBefore: 0, newChain: 0)
      for name in Self.parts {
        let whole = try Files.read("\(folder)/kept-\(name)")
        for length in Set([0, 1, 16, 99, 100, 4095, 4096, whole.count / 2, whole.count - 1]) where length < whole.count
        {
          try restore(folder)
          try Files.write(Array(whole.prefix(length)), to: "\(folder)/\(name)")
          switch try reopen(device, last: last, chain: chain, "\(name) cut to \(length)") {
          case .asBefore: outcomes.asBefore += 1
          case .newChain: outcomes.newChain += 1
          }
        }
        try restore(folder)
        Files.remove("\(folder)/\(name)")
        _ = try reopen(device, last: last, chain: chain, "\(name) gone")
      }
      print("cut off: \(outcomes.asBefore) as before, \(outcomes.newChain) new chains")
      // Everything gone: only the clock is left.
      for name in Self.parts { Files.remove("\(folder)/\(name)") }
      #expect(try reopen(device, last: last, chain: chain, "all gone") == .newChain)
    }
  }

  @Test func `a damaged file is set aside, and only one of them is kept`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      for round in 0..<3 {
        try device.attester().look(open: round % 2 == 0)
        Files.remove("\(folder)/\(Journal.fileName)-wal")
        try Files.write(Array(repeating: UInt8(round), count: 9_000), to: "\(folder)/\(Journal.fileName)")
        let attester = try device.attester()
        guard case .start(.damagedStore) = try device.events(attester).first?.body else {
          Issue.record("round \(round): \(try device.events(attester).map(\.body))")
          return
        }
        #expect(try Files.read("\(folder)/\(Journal.fileName).damaged") == Array(repeating: UInt8(round), count: 9_000))
      }
    }
  }

  @Test func `another key begins its own sequence and a chain of its own`() throws {
    try TemporaryFolder.with { folder in
      let site = try TestSite(now: TestDevice.start)
      let first = try TestDevice(folder, site: site)
      for round in 0..<3 { try first.attester().look(open: round % 2 == 0) }
      let second = try TestDevice(folder, site: site)
      let report = try second.report(second.attester().look(open: true))
      #expect(report.sequence == 1)
      guard case .start(.newKey) = try second.events(second.attester()).first?.body else {
        Issue.record("no start for a new key")
        return
      }
      // The first key again: it goes on where it was.
      #expect(try first.report(first.attester().look(open: true)).sequence > 3 * Counter.block - 1)
    }
  }

  @Test func `why a chain begins is known after a crash before its first report`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      _ = try device.attester().presence(.init(id: "connection-1", counters: [:]))
      try Files.write([1, 2, 3], to: "\(folder)/\(Journal.fileName)")
      _ = try device.attester().presence(.init(id: "connection-2", counters: [:]))
      let attester = try device.attester()
      try attester.look(open: true)
      #expect(try device.events(attester).first?.body == .start(.damagedStore))
    }
  }

  @Test func `two attesters do not share a journal`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let attester = try device.attester()
      try attester.look(open: true)
      #expect(throws: AttesterError.self) { try device.attester() }
      try attester.look(open: false)
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible, "mounts a small file system"))
  func `a full disk loses nothing that was said`()
    throws
  {
    try SmallDisk.with { disk in
      let device = try TestDevice(disk.path)
      let attester = try device.attester()
      try attester.look(open: true)
      try disk.fill()
      // Reports go on with the numbers that are reserved; the change waits for its event.
      var last: Int64 = 1
      for _ in 0..<20 {
        let report = try device.report(attester.look(open: false))
        #expect(report.verdict == .pass && report.sequence > last)
        last = report.sequence
      }
      let stuck = attester.journal.failure
      print("while full: \(stuck ?? "the log had room left")")
      disk.empty()
      let after = try device.report(attester.look(open: false))
      let events = try device.events(attester)
      #expect(events.count == 3)
      #expect(after.chain.number == 3)
      guard case .change(let change) = events[2].body else { return }
      #expect(change.from == .fail && change.to == .pass)
    }
  }

  /// What the status says of the journal is of now: where nothing has to be written, something is tried.
  @Test(.enabled(if: SmallDisk.isPossible, "mounts a small file system"))
  func `a disk that has room again is said to have it, with nothing new to write`() throws {
    for looks in [true, false] {
      try SmallDisk.with { disk in
        let device = try TestDevice(disk.path)
        let attester = try device.attester()
        try attester.look(open: true)
        try disk.fill()
        // Until the log has no room left either.
        var looked = 0
        while attester.journal.failure == nil, looked < 200 {
          try attester.look(open: looked % 2 == 1)
          looked += 1
        }
        #expect(attester.journal.failure != nil)
        let isOpen = attester.journal.ledger.verdict == .fail
        disk.empty()
        if looks {
          try attester.look(open: isOpen)
        } else {
          // Not before its time, however often something turns up.
          let writes = attester.journal.writes
          for _ in 0..<1_000 { attester.tick() }
          #expect(attester.journal.failure != nil && attester.journal.writes == writes)
          device.hands.uptime.withLock { $0 = attester.deadline ?? 0 }
          attester.tick()
        }
        #expect(attester.journal.failure == nil && attester.deadline == nil)
      }
    }
  }

  /// Its small file cannot be written, the journal can: tried again now and then, not with each turn.
  @Test func `marks that cannot be written do not wear the disk out`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let attester = try device.attester()
      try attester.look(open: true)
      let marks = "\(folder)/\(Journal.marksName)"
      unlink(marks)
      mkdir(marks, 0o700)
      try attester.look(open: false)
      #expect(attester.journal.failure != nil)
      let writes = attester.journal.writes
      for _ in 0..<600 {
        device.hands.uptime.withLock { $0 += 1_000 }
        attester.tick()
      }
      #expect((19...21).contains(attester.journal.writes - writes), "\(attester.journal.writes - writes)")
      rmdir(marks)
      device.hands.uptime.withLock { $0 += Journal.retry }
      attester.tick()
      #expect(attester.journal.failure == nil && Files.exists(marks))
    }
  }

  /// The report tells of the change at once; its event comes of another look, which is asked for when there is room.
  @Test(.enabled(if: SmallDisk.isPossible, "mounts a small file system"))
  func `a change that the journal did not take is owed a look`() throws {
    try SmallDisk.with { disk in
      let device = try TestDevice(disk.path)
      let attester = try device.attester()
      try attester.look(open: true)
      try disk.fill()
      var isOpen = true
      for _ in 0..<200 where !attester.owesEvent {
        isOpen.toggle()
        try attester.look(open: isOpen)
      }
      #expect(attester.owesEvent && !attester.takeOwedLook())
      disk.empty()
      device.hands.uptime.withLock { $0 += Journal.retry }
      attester.tick()
      #expect(attester.takeOwedLook() && !attester.takeOwedLook())
      try attester.look(open: isOpen)
      #expect(attester.journal.ledger.verdict == (isOpen ? .fail : .pass) && !attester.owesEvent)
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible, "mounts a small file system"))
  func `a read-only disk is an error that says so`()
    throws
  {
    try SmallDisk.with { disk in
      let device = try TestDevice(disk.path)
      try device.attester().look(open: true)
      try disk.set(readOnly: true)
      do {
        try device.attester().look(open: true)
        Issue.record("a report without a number reserved")
      } catch let error as AttesterError { #expect(error.code == .store) }
      try disk.set(readOnly: false)
      #expect(!Files.exists("\(disk.path)/\(Journal.fileName).damaged"))
      #expect(try device.report(device.attester().look(open: true)).chain.number == 2)
    }
  }
}
