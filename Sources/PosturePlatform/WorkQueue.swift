import Synchronization

/// Work from any threads for one that takes all of it at once. Whoever brings more than there is room for waits.
public final class WorkQueue<Item: Sendable>: Sendable {
  private struct State {
    var items: [Item] = []
    var isEnded = false
  }

  private let state = Mutex(State())
  private let work: Waker
  private let room: Waker
  private let cap: Int

  public init(cap: Int) throws(SystemError) {
    self.cap = cap
    work = try Waker()
    room = try Waker()
  }

  /// After ``end()`` there is always room: nothing more is expected, and nobody may wait for ever.
  public func put(_ item: Item) {
    while !add(item, upTo: cap) {
      _ = room.wait(100)
      room.clear()
    }
  }

  /// The same without waiting, whatever is there already: for what comes seldom.
  public func post(_ item: Item) { _ = add(item, upTo: .max) }

  private func add(_ item: Item, upTo cap: Int) -> Bool {
    let count = state.withLock { state -> Int? in
      guard state.items.count < cap || state.isEnded else { return nil }
      state.items.append(item)
      return state.items.count
    }
    // Whoever takes, takes all of them, after the waker was cleared.
    if count == 1 { work.wake() }
    return count != nil
  }

  /// What is there is still taken.
  public func end() {
    state.withLock { $0.isEnded = true }
    work.wake()
  }

  /// Waits until there is something, and `pause` milliseconds for more to come; nil once it has ended and nothing is left.
  /// - Parameter limit: milliseconds to wait for something; then there may be none.
  public func takeAll(after pause: Int64 = 0, within limit: Int64? = nil) -> [Item]? {
    _ = work.wait(limit)
    work.clear()
    if pause > 0 { Clock.sleep(milliseconds: pause) }
    let (items, isEnded) = state.withLock { state in
      defer { state.items = [] }
      return (state.items, state.isEnded)
    }
    room.wake()
    // The next call finds the end.
    if isEnded { work.wake() }
    return isEnded && items.isEmpty ? nil : items
  }
}
