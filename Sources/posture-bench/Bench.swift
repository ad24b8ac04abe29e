/// One question about speed or size, answered with figures.
protocol Bench {
  static var name: String { get }
  static var question: String { get }
  /// Whether only root can take its figures.
  static var needsRoot: Bool { get }
  func run() throws(BenchError) -> [Figure]
}

extension Bench {
  static var needsRoot: Bool { false }
}

/// By which factor a target may be missed and still counts as met.
struct Allowance {
  /// Of times and rates: what else the machine does moves them.
  var time = 1.0
  /// Of memory, which nothing else moves.
  var memory = 1.0

  /// Few samples, on a machine that is shared with others.
  static let short = Allowance(time: 2, memory: 1.1)
}

/// A figure could not be taken.
struct BenchError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
