/// Rows of cells in columns as wide as their widest cell; the last column takes what is left and wraps.
public struct Table {
  public struct Cell: ExpressibleByStringInterpolation {
    var text: String
    var colour: Terminal.Colour?

    public init(_ text: String, _ colour: Terminal.Colour? = nil) {
      self.text = Terminal.plain(text)
      self.colour = colour
    }
    public init(stringLiteral value: String) { self.init(value) }
  }

  private var rows: [[Cell]]
  /// A word that is longer than its column is broken, too: for what is painted over on a screen. Paths in reports stay
  /// whole, so that they can be copied.
  public var breaksWords = false

  public init(_ headings: String...) { rows = [headings.map { Cell($0, .bold) }] }

  public mutating func add(_ cells: Cell...) { rows.append(cells) }

  /// The lines, none longer than `width` unless a single word or the columns before the last are.
  public func lines(width: Int = Terminal.width) -> [String] {
    let last = (rows.map(\.count).max() ?? 1) - 1
    let widths = (0..<last).map { column in rows.map { column < $0.count ? $0[column].text.count : 0 }.max() ?? 0 }
    let indent = widths.reduce(0) { $0 + $1 + 2 }
    return rows.flatMap { row -> [String] in
      let head = zip(row, widths).map { cell, width in
        Terminal.paint(cell.text, cell.colour) + String(repeating: " ", count: width - cell.text.count + 2)
      }.joined()
      guard row.count > last, let tail = row.last else { return [head] }
      let wrapped = wrap(tail.text, to: max(24, width - indent))
      return wrapped.enumerated().map { index, line in
        (index == 0 ? head : String(repeating: " ", count: indent)) + Terminal.paint(line, tail.colour)
      }
    }
  }

  /// `text` in lines of at most `width` characters, broken at spaces.
  private func wrap(_ text: String, to width: Int) -> [String] {
    var lines: [String] = [""]
    for word in text.split(separator: " ").flatMap({ breaksWords ? Self.pieces($0, width) : [$0] }) {
      let line = lines[lines.count - 1]
      if line.isEmpty {
        lines[lines.count - 1] = String(word)
      } else if line.count + 1 + word.count <= width {
        lines[lines.count - 1] += " \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }

  private static func pieces(_ word: Substring, _ width: Int) -> [Substring] {
    var (pieces, rest) = ([Substring](), word)
    while rest.count > width {
      pieces.append(rest.prefix(width))
      rest = rest.dropFirst(width)
    }
    return pieces + [rest]
  }
}
