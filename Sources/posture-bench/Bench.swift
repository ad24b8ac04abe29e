/// One question about speed or size, answered with figures.
protocol Bench {
  static var name: String { get }
  static var question: String { get }
  func run() throws(BenchError) -> [Figure]
}

/// A figure could not be taken.
struct BenchError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
