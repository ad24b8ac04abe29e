/// The last few numbers seen under one key, each with what carried it: tells a duplicate from a contradiction.
struct SequenceWindow: Sendable {
  /// Numbers remembered; what is older cannot be judged.
  static let size = 16

  enum Sight: Hashable, Sendable {
    case new, duplicate, conflict
    /// Older than everything remembered.
    case forgotten
  }

  private struct Entry {
    var number: Int64
    var content: String
  }

  /// Rising.
  private var entries: [Entry] = []

  var newest: Int64? { entries.last?.number }

  /// `content` is a digest, or an id: two different ones under one number contradict each other.
  mutating func see(_ number: Int64, _ content: String) -> Sight {
    let at = entries.firstIndex { $0.number >= number } ?? entries.endIndex
    if at < entries.endIndex, entries[at].number == number {
      return entries[at].content == content ? .duplicate : .conflict
    }
    if at == entries.startIndex, entries.count == Self.size { return .forgotten }
    entries.insert(Entry(number: number, content: content), at: at)
    if entries.count > Self.size { entries.removeFirst() }
    return .new
  }
}
