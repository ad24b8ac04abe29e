/// Since when a device's verdict is what it is, as far as that is known: it was seen to change, or all that is known is
/// that it was so already. Seconds since the epoch, by the device's clock.
public struct VerdictStart: Hashable, Sendable {
  /// When it changed; nil where that was not seen.
  public private(set) var changed: Int64?
  /// The first time that it is known to have been so, with nothing else seen since.
  public private(set) var known: Int64
  /// When it was last known to be another one.
  private let other: Int64?

  /// `before`: the report before it, which says something else. What was reported between the two, if anything was, may
  /// have said the same already.
  init(_ report: ReportFacts, after before: ReportFacts?) {
    known = report.issued
    other = before?.issued
    let isNext = before.map { $0.kid == report.kid && report.seq - $0.seq == 1 } ?? false
    changed = isNext ? report.issued : nil
  }

  /// The history knows it from earlier; `isSeen`: and what was before.
  mutating func extend(to earlier: Int64, isSeen: Bool) {
    guard changed == nil, earlier <= known, other.map({ $0 < earlier }) ?? true else { return }
    known = earlier
    if isSeen { changed = earlier }
  }

  /// An event tells of the change. One from before anything that is known may be an old one that was sent again.
  mutating func place(at time: Int64) {
    guard time >= changed ?? other ?? known else { return }
    (known, changed) = (time, time)
  }
}
