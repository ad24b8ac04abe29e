import CLinux
import Glibc
import Posture
import PostureFleet
import PostureMQTT
import PosturePlatform
import PostureTokens
import Synchronization

/// The floor of a fleet: as many connections, packets of the same size, signatures and verifications, and nothing else.
final class BareFleet: FleetWork {
  private struct Device {
    let client: BareClient
    let key: BareKey
    let kit: DeviceKit
    let report: [UInt8]
    let progress: [UInt8]
  }

  /// What the main thread asks of the fleet's.
  private enum Phase: Int {
    case connecting, connected, publishing, published
  }

  private final class Progress: Sendable {
    let phase = Atomic<Int>(0)
    let failure = Mutex<String?>(nil)
  }

  private let progress = Progress()

  private let kits: [DeviceKit]
  private let command: BareMessage
  private let controller: FileKey

  init(_ kits: [DeviceKit], in home: Home) throws(BenchError) {
    self.kits = kits
    do {
      let identity = try Identity(.controller, in: home)
      controller = identity.key
      command = try BareMessage(try RecheckCommand(.site(home.site), from: identity, at: Clock.wall).token)
    } catch { throw BenchError("\(error)") }
  }

  /// Serves on a thread of its own until this process ends.
  func connect(to port: UInt16) throws(BenchError) {
    let (progress, kits, command, controller) = (progress, kits, command, controller)
    do throws(SystemError) {
      _ = try Thread.start("bare fleet") {
        do throws(BenchError) { try Self.run(kits, command, controller, port, progress) } catch {
          progress.failure.withLock { $0 = error.description }
        }
      }
    } catch { throw BenchError("\(error)") }
    try wait(for: .connected)
  }

  func publishState() throws(BenchError) {
    progress.phase.store(Phase.publishing.rawValue, ordering: .releasing)
    try wait(for: .published)
  }

  var fault: String? { progress.failure.withLock { $0 } }

  private func check() throws(BenchError) {
    if let fault { throw BenchError(fault) }
  }

  private func wait(for phase: Phase) throws(BenchError) {
    let end = Clock.boottimeMilliseconds + 300_000
    while progress.phase.load(ordering: .acquiring) != phase.rawValue {
      try check()
      guard Clock.boottimeMilliseconds < end else { throw BenchError("the floor's fleet is not \(phase) in time") }
      Clock.sleep(milliseconds: 2)
    }
  }

  // MARK: The thread

  private static func run(
    _ kits: [DeviceKit], _ command: BareMessage, _ controller: FileKey, _ port: UInt16, _ progress: Progress
  ) throws(BenchError) {
    let controller = try BareKey(controller)
    let epoll = Descriptor(owning: clinux_epoll())
    var devices: [Device] = []
    for kit in kits {
      let device = try connect(kit, command, controller, port)
      clinux_epoll_watch(epoll.number, device.client.descriptor, UInt32(POLLIN), UInt64(devices.count))
      devices.append(device)
    }
    progress.phase.store(Phase.connected.rawValue, ordering: .releasing)
    try serve(devices, epoll, progress)
  }

  private static func serve(
    _ devices: [Device], _ epoll: borrowing Descriptor, _ progress: Progress
  ) throws(BenchError) {
    var asked = false
    var settled = 0
    while true {
      let phase = Phase(rawValue: progress.phase.load(ordering: .acquiring))
      if phase == .publishing, !asked {
        asked = true
        for device in devices { try publishState(device) }
      }
      try turn(devices, epoll)
      guard phase == .publishing else { continue }
      while settled < devices.count, devices[settled].client.taken >= 3 { settled += 1 }
      if settled == devices.count { progress.phase.store(Phase.published.rawValue, ordering: .releasing) }
    }
  }

  private static func connect(
    _ kit: DeviceKit, _ command: BareMessage, _ controller: BareKey, _ port: UInt16
  ) throws(BenchError) -> Device {
    let client = try BareClient(kit.party.name.description, kit.tls, port: port)
    try client.subscribe(
      [.trust, .recheckDevice(kit.party.name), .recheckAll].map { (place: Topic.Place) in
        Topic(kit.party.site, place).text
      })
    let device = Device(
      client: client, key: try BareKey(kit.key), kit: kit, report: Array(kit.report.utf8),
      progress: Array(kit.progress.utf8))
    let (report, reply) = (kit.topic(Topic.Place.report), kit.topic(Topic.Place.reply))
    let recheck = Topic(kit.party.site, .recheckAll).text
    let key = device.key
    client.onMessage = { [unowned client] topic in
      guard topic == recheck else { return }
      controller.verify(command)
      key.sign(device.progress)
      try? client.publish(reply, device.progress, retain: false)
      key.sign(device.report)
      try? client.publish(report, device.report, retain: true)
      try? client.publish(reply, device.report, retain: false)
    }
    return device
  }

  private static func publishState(_ device: Device) throws(BenchError) {
    for publication in device.kit.state {
      try device.client.publish(publication.topic, publication.payload, retain: publication.retain)
    }
  }

  private static func turn(_ devices: [Device], _ epoll: borrowing Descriptor) throws(BenchError) {
    var tags = [UInt64](repeating: 0, count: 64)
    var events = [UInt32](repeating: 0, count: 64)
    let count = clinux_epoll_wait(epoll.number, &tags, &events, 64, 20)
    for (tag, event) in zip(tags, events).prefix(Int(max(0, count))) {
      let client = devices[Int(tag)].client
      try client.proceed(readable: event & UInt32(POLLIN | POLLHUP | POLLERR) != 0)
      clinux_epoll_watch(epoll.number, client.descriptor, UInt32(POLLIN | (client.wantsWrite ? POLLOUT : 0)), tag)
    }
  }
}
