import Glibc
import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// The table on a terminal, painted over at most twice a second.
struct LiveTable {
  private var selection: RowSelection

  init(_ selection: RowSelection) { self.selection = selection }

  func run(_ watch: inout FleetWatch) -> Int32 {
    var table = self
    Stop.onSignals()
    let screen = Screen()
    defer { screen.leave() }
    while !Stop.isAsked {
      table.paint(watch, screen)
      watch.take(milliseconds: 500)
      switch screen.key() {
      case UInt8(ascii: "q"): return 0
      case UInt8(ascii: "s"): table.nextOrder()
      default: continue
      }
    }
    return 0
  }

  private mutating func nextOrder() {
    let orders = RowSelection.Order.allCases
    selection.order = orders[(orders.firstIndex(of: selection.order)! + 1) % orders.count]
  }

  private func paint(_ watch: FleetWatch, _ screen: Screen) {
    let now = Clock.wall
    let rows = selection.apply(to: watch.rows(at: now))
    let foot = [Terminal.paint("q end  s order: \(selection.order.rawValue)", .dim)]
    let head = [watch.summary(at: now)] + (watch.trouble.map { [Terminal.paint($0, .yellow)] } ?? [])
    let height = max(3, screen.height - head.count - foot.count)
    screen.show(head + FleetTable(rows, at: now).lines(width: Terminal.width, height: height) + foot)
  }
}

/// The terminal's other screen, without echo; ``leave()`` gives it back as it was.
final class Screen {
  private var before = termios()
  private let isRaw: Bool

  init() {
    isRaw = isatty(0) == 1 && tcgetattr(0, &before) == 0
    if isRaw {
      var raw = before
      raw.c_lflag &= ~UInt32(ICANON | ECHO)
      tcsetattr(0, TCSANOW, &raw)
    }
    // Without line wrap: a character that is wider than it counts must not push the table off its lines.
    write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l")
  }

  func leave() {
    write("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
    if isRaw { tcsetattr(0, TCSANOW, &before) }
  }

  var height: Int {
    var size = winsize()
    return ioctl(1, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 0 ? Int(size.ws_row) : 24
  }

  func show(_ lines: [String]) {
    let body = lines.prefix(height).map { "\($0)\u{1B}[K" }.joined(separator: "\r\n")
    write("\u{1B}[H\(body)\u{1B}[J")
  }

  /// A key that was pressed; 0 for none.
  func key() -> UInt8 {
    guard isRaw else { return 0 }
    var waiting = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
    var key: UInt8 = 0
    guard poll(&waiting, 1, 0) > 0, read(0, &key, 1) == 1 else { return 0 }
    return key
  }

  private func write(_ text: String) {
    let bytes = Array(text.utf8)
    _ = Glibc.write(1, bytes, bytes.count)
  }
}
