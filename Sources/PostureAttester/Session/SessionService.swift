import CLinux
import Glibc
import Posture
public import PosturePlatform
import PostureProbes

/// The owner's side, in the owner's session: tells whoever connects what the session's Secret Service did with a random
/// secret. It takes no request, and one answer is the whole conversation.
public enum SessionService {
  /// Below the owner's runtime folder.
  static let path = "posture/session.sock"
  /// Milliseconds after which it ends if nobody asks: systemd starts it again for the next one.
  private static let idle: Int32 = 30_000
  /// Nobody may keep the keyring busy: who asks more often hears the last answer again.
  private static let pace = Bucket(every: 1_000, burst: 5)

  /// The socket below XDG_RUNTIME_DIR, for a session without systemd.
  public static func listen() throws(SystemError) -> Descriptor {
    let folder = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? "/run/user/\(geteuid())"
    let socket = Path.join(folder, path)
    let listener = try UnixSocket.listen(socket, folder: 0o700)
    // The folders above keep everybody out but the owner, root, and the attester, which may only look into them.
    try retrying("chmod", socket) { chmod(socket, 0o666) }
    return listener
  }

  /// Answers until it is told to end, or nobody has asked for a while.
  public static func run(_ listener: consuming Descriptor) throws(SystemError) {
    let signals = Descriptor(owning: try retrying("signalfd") { clinux_signals() })
    _ = fcntl(listener.number, F_SETFL, O_NONBLOCK)
    var answer: [UInt8] = []
    var pace = pace
    while true {
      var polled = [signals.number, listener.number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard try retrying("poll", nil, { poll(&polled, 2, idle) }) > 0, polled[0].revents == 0 else { return }
      while let client = UnixSocket.accept(listener.number) {
        // What was so before it was asked is no answer: the session may have been locked since.
        if pace.takeNow(Clock.boottimeMilliseconds) { answer = Frame.encode(SecretServiceProbe.run().json.bytes) }
        _ = try? UnixSocket.send(client.number, answer[...])
      }
    }
  }
}
