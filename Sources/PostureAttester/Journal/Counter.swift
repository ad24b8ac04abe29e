/// Numbers that rise and are never given twice: a block of them is reserved on the disk before its first is used.
struct Counter: Hashable, Sendable {
  static let block: Int64 = 256
  /// How far to jump where only ``Marks`` are left, which may be older than the journal was.
  static let leap: Int64 = 1 << 20

  /// The last number that was given.
  private(set) var last: Int64
  /// As far as the disk knows, every number up to this one may have been given.
  private(set) var reserved: Int64

  init(reserved: Int64) {
    last = reserved
    self.reserved = reserved
  }

  var needsBlock: Bool { last >= reserved }

  mutating func reserveBlock() { reserved = last + Self.block }

  /// Call only where ``needsBlock`` is false.
  mutating func take() -> Int64 {
    precondition(!needsBlock, "a number that the disk does not know of")
    last += 1
    return last
  }
}
