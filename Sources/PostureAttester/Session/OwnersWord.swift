import Glibc
import Posture
import PosturePlatform
import PostureProbes

/// What owners' sessions say of their Secret Service. It is their word and no more: marked as such, and never a reason
/// for an answer that the files do not give.
enum OwnersWord {
  /// Milliseconds for one session, and for all of them.
  private static let patience: Int64 = 3_000
  private static let allTogether: Int64 = 6_000
  private static let cap = 4_096

  /// Asks the session of each owner; who has none, or none that answers, is told as such.
  static func add(to facts: inout ProbeResult, owners: [Subject], runtime: String = "/run/user") {
    let deadline = Clock.boottimeMilliseconds + allTogether
    for owner in owners where owner.kind == .owner {
      guard let uid = owner.uid else { continue }
      let left = min(deadline, Clock.boottimeMilliseconds + patience)
      guard let result = ask(Path.join("\(runtime)/\(uid)", SessionService.path), uid, until: left) else {
        SecretServiceResult(.noSession).apply(to: &facts, owner: owner.name)
        continue
      }
      let before = facts.doors
      result.apply(to: &facts, owner: owner.name)
      mark(&facts, before)
    }
  }

  private static func mark(_ facts: inout ProbeResult, _ before: [Door]) {
    for index in facts.doors.indices where index >= before.count || facts.doors[index].proof != before[index].proof {
      guard facts.doors[index].proof?.method == .roundTrip else { continue }
      facts.doors[index].note = [facts.doors[index].note, "proof: the owner's word"].compactMap { $0 }.joined(
        separator: "; ")
    }
  }

  /// Only the owner's own process is listened to; nil: there is none.
  private static func ask(_ path: String, _ uid: UInt32, until deadline: Int64) -> SecretServiceResult? {
    guard let socket = try? UnixSocket.connect(path, isBlocking: false), UnixSocket.peer(socket.number) == uid else {
      return nil
    }
    var reader = FrameReader(cap: cap)
    while true {
      guard let payload = try? reader.next() else {
        let left = deadline - Clock.boottimeMilliseconds
        var polled = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        guard left > 0, poll(&polled, 1, Int32(left)) > 0 else { return SecretServiceResult(.timeout) }
        guard let bytes = try? socket.read(cap), !bytes.isEmpty else { return SecretServiceResult(.failed) }
        reader.append(bytes)
        guard reader.pending <= cap + 4 else { return SecretServiceResult(.failed) }
        continue
      }
      return (try? JSONParser.parse(payload)).flatMap(SecretServiceResult.init(json:)) ?? SecretServiceResult(.failed)
    }
  }
}
