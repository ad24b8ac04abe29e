/// Rows of cells in columns as wide as their widest cell; the last column takes what is left and wraps.
public struct Table {
  public struct Cell: ExpressibleByStringInterpolation {
    var text: String
    var colour: Terminal.Colour?
    var width: Int { Columns.count(text) }

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

  /// The last column goes beneath its row where a word of it does not fit beside: for paths that are long and stay whole.
  public var flowsBeneath = false

  private static let gap = 2
  private static let leastLast = 24
  private static let leastColumn = 8
  private static let indentBeneath = 4

  /// The lines, none longer than `width` unless a single word of the last column is.
  public func lines(width: Int = Terminal.width) -> [String] {
    let last = (rows.map(\.count).max() ?? 1) - 1
    let natural = (0..<last).map { column in rows.map { column < $0.count ? $0[column].width : 0 }.max() ?? 0 }
    let isBeneath = flowsBeneath && longestWord(last) > width - Self.indent(natural)
    let widths = Self.narrowed(natural, to: isBeneath ? width : width - Self.leastLast)
    let indent = isBeneath ? Self.indentBeneath : Self.indent(widths)
    return rows.flatMap { row -> [String] in
      let head = head(row, widths)
      guard row.count > last, let tail = row.last else { return head }
      let wrapped = Self.wrap(tail.text, to: max(Self.leastLast, width - indent), breaksWords: breaksWords)
        .map { Terminal.paint($0, tail.colour) }
      let blank = String(repeating: " ", count: indent)
      if isBeneath { return head + wrapped.map { blank + $0 } }
      return (0..<max(head.count, wrapped.count)).map { at in
        (at < head.count ? head[at] : blank) + (at < wrapped.count ? wrapped[at] : "")
      }
    }
  }

  private static func indent(_ widths: [Int]) -> Int { widths.reduce(0) { $0 + $1 + gap } }

  private func longestWord(_ column: Int) -> Int {
    rows.filter { $0.count > column }.flatMap { $0[column].text.split(separator: " ").map(Columns.count) }.max() ?? 0
  }

  /// The widest columns narrower, until all have room together.
  private static func narrowed(_ natural: [Int], to width: Int) -> [Int] {
    var widths = natural
    while indent(widths) > width, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }),
      widths[widest] > leastColumn
    {
      widths[widest] -= 1
    }
    return widths
  }

  /// The columns before the last: one line, or more where a cell is wider than its column.
  private func head(_ row: [Cell], _ widths: [Int]) -> [String] {
    let cells = zip(row, widths).map { cell, width in
      (lines: Self.wrap(cell.text, to: width, breaksWords: true), cell.colour, width)
    }
    return (0..<(cells.map(\.lines.count).max() ?? 1)).map { line in
      cells.map { lines, colour, width in
        let text = line < lines.count ? lines[line] : ""
        return Terminal.paint(text, colour) + String(repeating: " ", count: width - Columns.count(text) + Self.gap)
      }.joined()
    }
  }

  /// `text` in lines of at most `width` columns, broken at spaces.
  private static func wrap(_ text: String, to width: Int, breaksWords: Bool) -> [String] {
    var lines: [String] = [""]
    for word in text.split(separator: " ").flatMap({ breaksWords ? Columns.pieces($0, width) : [String($0)] }) {
      let line = lines[lines.count - 1]
      if line.isEmpty {
        lines[lines.count - 1] = word
      } else if Columns.count(line) + 1 + Columns.count(word) <= width {
        lines[lines.count - 1] += " \(word)"
      } else {
        lines.append(word)
      }
    }
    return lines
  }
}
