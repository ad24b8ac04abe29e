/// Lengths of time in two or three characters, as a table has room for.
public enum Span {
  /// `0s` to `99s`, then minutes, hours, days. Negative lengths, of clocks that disagree, are 0.
  public static func text(_ seconds: Int64) -> String {
    let seconds = max(0, seconds)
    return switch seconds {
    case ..<100: "\(seconds)s"
    case ..<5_940: "\(seconds / 60)m"
    case ..<172_800: "\(seconds / 3_600)h"
    default: "\(seconds / 86_400)d"
    }
  }
}
