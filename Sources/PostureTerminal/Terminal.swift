import Glibc
import PosturePlatform
import Synchronization

/// Standard output and error, and whether a person looks at them.
public enum Terminal {
  /// Colours are for a terminal whose owner has not said no (https://no-color.org).
  public static let hasColour = isScreen(1) && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)

  /// Whether this is a terminal that knows escape codes.
  public static func isScreen(_ fd: Int32) -> Bool {
    isatty(fd) == 1 && getenv("TERM").map { String(cString: $0) } != "dumb"
  }

  /// Columns of the terminal; 80 where that cannot be told.
  public static var width: Int {
    var size = winsize()
    return ioctl(1, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
  }

  public enum Colour: String, Sendable {
    case red = "31"
    case green = "32"
    case yellow = "33"
    case bold = "1"
    case dim = "2"
  }

  public static func paint(_ text: String, _ colour: Colour?) -> String {
    guard hasColour, let colour else { return text }
    return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
  }

  private static let failure = Atomic<Bool>(false)

  /// Something for standard output could not be written. What is under way goes on to its end, but the process has failed.
  static var hasFailed: Bool { failure.load(ordering: .relaxed) }

  /// Nobody gets what goes to standard output: its reader left, or writing failed. The end of what never ends by itself.
  public static var isOutputLost: Bool {
    var output = pollfd(fd: 1, events: 0, revents: 0)
    return hasFailed || (poll(&output, 1, 0) > 0 && output.revents & Int16(POLLERR) != 0)
  }

  public static func out(_ text: String) {
    do throws(SystemError) { try write(text, to: 1) } catch {
      // A reader that left has what it wanted.
      guard error.errno != EPIPE, !failure.exchange(true, ordering: .relaxed) else { return }
      Terminal.error("\(program): standard output: \(error.reason)")
    }
  }

  /// What went wrong may be in words of a file or a message.
  public static func error(_ text: String) { try? write(plain(text), to: 2) }

  /// The name that this program was called by.
  static var program: String { CommandLine.arguments.first.map(Path.name) ?? "posture" }

  private static func write(_ text: String, to fd: Int32) throws(SystemError) {
    var bytes = Array((text + "\n").utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
      if count >= 0 {
        bytes = bytes.dropFirst(count)
      } else if errno == EAGAIN {
        // Somebody else made it non-blocking.
        var output = pollfd(fd: fd, events: Int16(POLLOUT), revents: 0)
        poll(&output, 1, -1)
      } else if errno != EINTR {
        throw .current("write")
      }
    }
  }

  /// Text from elsewhere without control and format characters, which could move the cursor or hide words.
  public static func plain(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: "\u{FFFD}"
          default: scalar
          }
        }))
  }
}
