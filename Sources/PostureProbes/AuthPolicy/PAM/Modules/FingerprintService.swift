import Posture
import PosturePlatform

/// fprintd of a running system, over the system bus: which readers are plugged in, whose prints they hold.
///
/// It is started by the first call, and looks at the readers only.
struct FingerprintService: Sendable {
  enum Readers: Hashable, Sendable {
    /// A tree has no running service.
    case notAsked
    /// None is plugged in, or there is no service at all.
    case none
    case some([String])
    /// The bus or the service did not answer.
    case unknown(Cause)
  }

  let readers: Readers
  private let enrolled: @Sendable (String) -> Fingers

  enum Fingers: Hashable, Sendable {
    case some
    case none
    /// Prints of others are told to root alone.
    case refused
  }

  private static let name = "net.reactivated.Fprint"
  private static let manager = "/net/reactivated/Fprint/Manager"
  /// Milliseconds for everything together: a service that has to look at a reader first needs one or two.
  private static let patience: Int64 = 5_000

  init(_ system: System) {
    guard system.isLive else {
      self.init(readers: .notAsked) { _ in .refused }
      return
    }
    self.init(address: MessageBus.system)
  }

  init(readers: Readers, enrolled: @escaping @Sendable (String) -> Fingers) {
    self.readers = readers
    self.enrolled = enrolled
  }

  init(address: String) {
    let readers = Self.readers(address)
    guard case .some(let devices) = readers else {
      self.init(readers: readers) { _ in .none }
      return
    }
    self.init(readers: readers) { user in Self.fingers(of: user, devices, address) }
  }

  /// What the service knows of a person's fingers on the readers that are there.
  func fingers(of user: String) -> Fingers { enrolled(user) }

  private static func readers(_ address: String) -> Readers {
    do throws(MessageBus.Failure) {
      let bus = try MessageBus(address, deadline: Clock.boottimeMilliseconds + patience)
      let reply = try bus.call(name, manager, "\(name).Manager", "GetDevices", starts: true)
      let paths = (reply.list ?? []).compactMap { value in
        if case .text(let path) = value { path } else { nil }
      }
      return paths.isEmpty ? .none : .some(paths)
    } catch {
      switch error {
      case .error("org.freedesktop.DBus.Error.ServiceUnknown"), .error("org.freedesktop.DBus.Error.NameHasNoOwner"):
        return .none
      default:
        return .unknown(
          Cause("biometryReaderUnknown", observed: "fprintd does not answer: \(error.words)", evidence: []))
      }
    }
  }

  private static func fingers(of user: String, _ devices: [String], _ address: String) -> Fingers {
    guard let bus = try? MessageBus(address, deadline: Clock.boottimeMilliseconds + patience) else { return .refused }
    var result = Fingers.none
    for device in devices {
      do throws(MessageBus.Failure) {
        let reply = try bus.call(name, device, "\(name).Device", "ListEnrolledFingers") { $0.string(user) }
        if reply.list?.isEmpty == false { return .some }
      } catch {
        if error != .error("\(name).Error.NoEnrolledPrints") { result = .refused }
      }
    }
    return result
  }
}

extension MessageBus.Failure {
  fileprivate var words: String {
    switch self {
    case .noBus(let name): "no bus \(name)"
    case .error(let name): name
    case .timeout: "timeout"
    case .malformed: "an answer that is none"
    }
  }
}
