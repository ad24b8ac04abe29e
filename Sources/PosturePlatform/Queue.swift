/// First in, first out. Taking one is cheap however many wait.
public struct Queue<Element> {
  private var elements: [Element] = []
  private var next = 0
  /// Those that were taken are let go together.
  private static var waste: Int { 1_024 }

  public init() {}

  public var isEmpty: Bool { next == elements.count }

  public mutating func put(_ element: Element) { elements.append(element) }

  public mutating func take() -> Element? {
    guard !isEmpty else { return nil }
    defer { tidy() }
    return elements[next]
  }

  private mutating func tidy() {
    next += 1
    if isEmpty {
      elements.removeAll(keepingCapacity: elements.capacity <= Self.waste)
      next = 0
    } else if next >= Self.waste, next * 2 >= elements.count {
      elements.removeFirst(next)
      next = 0
    }
  }
}

extension Queue: Sendable where Element: Sendable {}
