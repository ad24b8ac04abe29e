import Posture

/// One measured figure, with the floor it is compared to in the same run.
struct Figure {
  /// What a ratio has to keep to.
  enum Target {
    case atMost(Double)
    case atLeast(Double)

    func isMet(by ratio: Double) -> Bool {
      switch self {
      case .atMost(let bound): ratio <= bound
      case .atLeast(let bound): ratio >= bound
      }
    }

    var text: String {
      switch self {
      case .atMost(let bound): "<= \(short(bound))"
      case .atLeast(let bound): ">= \(short(bound))"
      }
    }
  }

  var bench: String
  var metric: String
  var unit: String
  var samples: Samples
  /// The figure of the floor, in the same unit; nil where the figure stands alone.
  var floor: Double?
  /// Of the ratio where there is a floor, else of the median itself.
  var target: Target?

  var ratio: Double? { floor.map { samples.median / $0 } }
  var isMet: Bool? { target.map { $0.isMet(by: ratio ?? samples.median) } }

  var json: JSON {
    .build { object in
      object("bench", .string(bench))
      object("metric", .string(metric))
      object("unit", .string(unit))
      object("median", .number(short(samples.median)))
      object("p99", .number(short(samples.p99)))
      object("runs", .integer(Int64(samples.count)))
      object("floor", floor.map { .number(short($0)) } ?? .null)
      object("ratio", ratio.map { .number(short($0)) } ?? .null)
      object("target", .text(target?.text))
      object("met", isMet.map(JSON.bool) ?? .null)
    }
  }
}

/// Measured values of one thing.
struct Samples {
  private let sorted: [Double]

  init(_ values: [Double]) { sorted = values.sorted() }

  var count: Int { sorted.count }
  var median: Double { quantile(0.5) }
  var p99: Double { quantile(0.99) }

  func scaled(by factor: Double) -> Samples { Samples(sorted.map { $0 * factor }) }

  /// Rates of durations.
  func reciprocals(of one: Double) -> Samples { Samples(sorted.map { one / $0 }) }

  /// The smallest value that at least this part of the values does not exceed.
  func quantile(_ part: Double) -> Double {
    guard !sorted.isEmpty else { return 0 }
    return sorted[min(sorted.count - 1, max(0, Int((part * Double(sorted.count)).rounded(.up)) - 1))]
  }
}

/// A number with three to four significant digits, as JSON and people read it.
func short(_ value: Double) -> String {
  guard value.isFinite else { return "0" }
  let scale: Double = abs(value) >= 100 ? 1 : abs(value) >= 1 ? 100 : 10_000
  let scaled = (value * scale).rounded()
  let whole = Int64(scaled / scale)
  let rest = Int64(abs(scaled).truncatingRemainder(dividingBy: scale))
  guard rest > 0 else { return scaled < 0 && whole == 0 ? "0" : String(whole) }
  let width = String(Int64(scale)).count - 1
  let digits = String(rest)
  let padded = String(repeating: "0", count: width - digits.count) + digits
  let trimmed = padded.reversed().drop { $0 == "0" }.reversed()
  return (scaled < 0 && whole == 0 ? "-" : "") + "\(whole)." + String(trimmed)
}
