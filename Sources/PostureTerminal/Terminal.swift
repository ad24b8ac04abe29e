import Glibc

/// Standard output and error, and whether a person looks at them.
public enum Terminal {
  /// Colours are for a terminal whose owner has not said no (https://no-color.org).
  public static let hasColour =
    isatty(1) == 1 && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
    && getenv("TERM").map { String(cString: $0) } != "dumb"

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

  public static func out(_ text: String) { write(text, to: 1) }
  public static func error(_ text: String) { write(text, to: 2) }

  private static func write(_ text: String, to fd: Int32) {
    var bytes = Array((text + "\n").utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      // A reader that went away is no error of ours.
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
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
