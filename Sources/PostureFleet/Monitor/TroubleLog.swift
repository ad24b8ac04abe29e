/// Says once when a part begins to be in trouble, and once when it is well again, however often it is tried meanwhile.
struct TroubleLog {
  private var troubled: Set<String> = []

  /// The line to write, if any.
  /// - Parameter trouble: names the part too; nil where all is well.
  mutating func line(_ part: String, _ trouble: String?) -> String? {
    guard let trouble else { return troubled.remove(part).map { "\($0): well again" } }
    return troubled.insert(part).inserted ? trouble : nil
  }
}
