/// A regular expression of JavaScript's, as far as rules of polkit use them; anything beyond is not read.
///
/// Only whether and where it matches is asked, so that greed and the order of alternatives do not matter.
struct PolkitExpression: Hashable, Sendable {
  indirect enum Node: Hashable, Sendable {
    case byte(UInt8)
    case set(Set<UInt8>)
    case start
    case end
    case boundary(isWanted: Bool)
    case sequence([Node])
    case choice([Node])
    case repeated(Node, least: Int, most: Int)
  }

  private let node: Node
  private let ignoresCase: Bool

  /// nil for what is not read here: references, looking around, flags that change the meaning of anchors.
  init?(_ pattern: String, flags: String) {
    guard pattern.utf8.count <= 512, flags.allSatisfy({ "giu".contains($0) }), pattern.utf8.allSatisfy({ $0 < 0x80 })
    else { return nil }
    ignoresCase = flags.contains("i")
    var reader = Reader(bytes: Array((ignoresCase ? pattern.lowercasedOutsideEscapes : pattern).utf8))
    guard let node = reader.choice(depth: 0), reader.isAtEnd else { return nil }
    self.node = node
  }

  // MARK: Matching

  /// Where the first match begins, -1 where there is none; nil where finding out takes too long.
  func firstMatch(in text: String) -> Int? {
    guard text.utf8.count <= 512 else { return nil }
    var matcher = Matcher(text: Array((ignoresCase ? text.lowercased() : text).utf8))
    for start in 0...matcher.text.count {
      if matcher.match(node, at: start, then: { _, _ in true }) { return start }
      if matcher.steps > Matcher.limit { return nil }
    }
    return -1
  }

  private struct Matcher {
    let text: [UInt8]
    var steps = 0
    static let limit = 100_000

    /// Whether `node` matches from `at` on and `then` does from where it ends.
    mutating func match(_ node: Node, at: Int, then: (inout Matcher, Int) -> Bool) -> Bool {
      steps += 1
      guard steps <= Self.limit else { return false }
      switch node {
      case .byte(let byte): return at < text.count && text[at] == byte && then(&self, at + 1)
      case .set(let set): return at < text.count && set.contains(text[at]) && then(&self, at + 1)
      case .start: return at == 0 && then(&self, at)
      case .end: return at == text.count && then(&self, at)
      case .boundary(let isWanted): return (isWord(at - 1) != isWord(at)) == isWanted && then(&self, at)
      case .sequence(let nodes): return match(nodes[...], at: at, then: then)
      case .choice(let nodes):
        for one in nodes where match(one, at: at, then: then) { return true }
        return false
      case .repeated(let inner, let least, let most): return match(inner, least, most, at: at, then: then)
      }
    }

    private mutating func match(_ nodes: ArraySlice<Node>, at: Int, then: (inout Matcher, Int) -> Bool) -> Bool {
      guard let first = nodes.first else { return then(&self, at) }
      let rest = nodes.dropFirst()
      return match(first, at: at) { matcher, end in matcher.match(rest, at: end, then: then) }
    }

    private mutating func match(
      _ node: Node, _ least: Int, _ most: Int, at: Int, then: (inout Matcher, Int) -> Bool
    ) -> Bool {
      if least <= 0, then(&self, at) { return true }
      guard most > 0 else { return false }
      return match(node, at: at) { matcher, end in
        // Once more without taking anything leads nowhere new.
        guard end > at || least > 0 else { return false }
        return matcher.match(node, max(0, least - 1), most - 1, at: end, then: then)
      }
    }

    private func isWord(_ index: Int) -> Bool {
      text.indices.contains(index) && (ASCII.isAlphanumeric(text[index]) || text[index] == UInt8(ascii: "_"))
    }
  }

  // MARK: Reading

  private struct Reader {
    let bytes: [UInt8]
    private var at = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { at == bytes.count }
    private var byte: UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func take(_ text: StaticString) -> Bool {
      let wanted = text.withUTF8Buffer { Array($0) }
      guard bytes[at...].starts(with: wanted) else { return false }
      at += wanted.count
      return true
    }

    mutating func choice(depth: Int) -> Node? {
      guard depth < 24 else { return nil }
      var nodes: [Node] = []
      repeat {
        guard let one = sequence(depth) else { return nil }
        nodes.append(one)
      } while take("|")
      return nodes.count == 1 ? nodes[0] : .choice(nodes)
    }

    private mutating func sequence(_ depth: Int) -> Node? {
      var nodes: [Node] = []
      while let byte, byte != UInt8(ascii: "|"), byte != UInt8(ascii: ")") {
        guard let atom = atom(depth), let node = quantified(atom) else { return nil }
        nodes.append(node)
      }
      return .sequence(nodes)
    }

    private mutating func atom(_ depth: Int) -> Node? {
      if take("^") { return .start }
      if take("$") { return .end }
      if take(".") { return .set(Self.all.subtracting([10, 13])) }
      if take("[") { return set() }
      if take("(") {
        // "(?:" groups; what else begins with a question mark looks around.
        if take("?"), !take(":") { return nil }
        guard let inner = choice(depth: depth + 1), take(")") else { return nil }
        return inner
      }
      if take("\\") { return escaped() }
      guard let byte, !"*+?{".utf8.contains(byte) else { return nil }
      at += 1
      return .byte(byte)
    }

    private mutating func quantified(_ node: Node) -> Node? {
      guard let (least, most) = counts() else { return node }
      guard least <= most, most <= 1_000 || most == .max else { return nil }
      _ = take("?")
      return .repeated(node, least: least, most: most)
    }

    private mutating func counts() -> (Int, Int)? {
      if take("*") { return (0, .max) }
      if take("+") { return (1, .max) }
      if take("?") { return (0, 1) }
      guard byte == UInt8(ascii: "{"), let close = bytes[at...].firstIndex(of: UInt8(ascii: "}")) else { return nil }
      let parts = String(decoding: bytes[(at + 1)..<close], as: UTF8.self)
        .split(separator: ",", omittingEmptySubsequences: false)
      guard let least = Int(parts[0]), parts.count <= 2 else { return (1, 0) }
      at = close + 1
      if parts.count == 1 { return (least, least) }
      return (least, parts[1].isEmpty ? .max : Int(parts[1]) ?? -1)
    }

    private mutating func escaped() -> Node? {
      guard let byte else { return nil }
      at += 1
      switch byte {
      case UInt8(ascii: "b"): return .boundary(isWanted: true)
      case UInt8(ascii: "B"): return .boundary(isWanted: false)
      default: return Self.named(byte).map { .set($0) } ?? Self.plain(byte).map { .byte($0) }
      }
    }

    private static let all = Set(UInt8.min...UInt8.max)

    /// `\d` and its like.
    private static func named(_ byte: UInt8) -> Set<UInt8>? {
      let digits = Set(UInt8(ascii: "0")...UInt8(ascii: "9"))
      let words = all.filter { ASCII.isAlphanumeric($0) || $0 == UInt8(ascii: "_") }
      switch byte {
      case UInt8(ascii: "d"): return digits
      case UInt8(ascii: "D"): return all.subtracting(digits)
      case UInt8(ascii: "w"): return words
      case UInt8(ascii: "W"): return all.subtracting(words)
      case UInt8(ascii: "s"): return all.filter(ASCII.isSpace)
      case UInt8(ascii: "S"): return all.filter { !ASCII.isSpace($0) }
      default: return nil
      }
    }

    /// A sign stands for itself; other letters and digits have meanings that are not read here.
    private static func plain(_ byte: UInt8) -> UInt8? { ASCII.isAlphanumeric(byte) ? nil : byte }

    private mutating func set() -> Node? {
      let isNegated = take("^")
      var members = Set<UInt8>()
      while let byte, byte != UInt8(ascii: "]") {
        at += 1
        var first = byte
        if byte == UInt8(ascii: "\\") {
          guard let next = self.byte else { return nil }
          at += 1
          if let named = Self.named(next) {
            members.formUnion(named)
            continue
          }
          guard let plain = Self.plain(next) else { return nil }
          first = plain
        }
        if at + 1 < bytes.count, bytes[at] == UInt8(ascii: "-"), bytes[at + 1] != UInt8(ascii: "]") {
          let last = bytes[at + 1]
          guard last != UInt8(ascii: "\\"), first <= last else { return nil }
          at += 2
          members.formUnion(first...last)
        } else {
          members.insert(first)
        }
      }
      guard take("]") else { return nil }
      return .set(isNegated ? Self.all.subtracting(members) : members)
    }
  }
}

extension String {
  /// Small letters, but for those behind a backslash, where `\D` is not `\d`.
  fileprivate var lowercasedOutsideEscapes: String {
    var isEscaped = false
    return String(
      map { character in
        defer { isEscaped = !isEscaped && character == "\\" }
        return isEscaped ? character : Character(character.lowercased())
      })
  }
}
