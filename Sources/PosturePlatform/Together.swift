/// Several threads at once.
public enum Together {
  /// Runs `body` in so many threads, each with its number from 0 on, and waits for all of them.
  public static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws(SystemError) {
    guard count > 0 else { return }
    let thread = try Thread.start("together-\(count)") { body(count - 1) }
    try run(count - 1, body)
    thread.join()
  }
}
