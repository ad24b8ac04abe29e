/// One event of a device, as far as its chain is concerned.
public struct EventLink: Hashable, Sendable {
  public enum Content: Hashable, Sendable {
    case change
    /// The device declares that it lost the events from `first` up to this one's number.
    case gap(first: Int64)
    /// The chain begins here, for this reason.
    case start(reason: String)
  }

  public var eseq: Int64
  /// What the next event has to name as the one before it: the digest of event ``eseq``, which for a gap is not its own.
  public var digest: String
  /// Digest of the event before; nil at the start of a chain.
  public var prev: String?
  public var content: Content

  public init(eseq: Int64, digest: String, prev: String?, content: Content = .change) {
    self.eseq = eseq
    self.digest = digest
    self.prev = prev
    self.content = content
  }

  /// The first number that this event accounts for.
  var first: Int64 { if case .gap(let first) = content { first } else { eseq } }

  /// Whether a chain can begin so: with its reason, or with the loss of it declared.
  var isStart: Bool { if case .change = content { false } else { first == 1 } }
}

/// What a report says about the device's chain: its last event.
public struct ChainHead: Hashable, Sendable {
  public var chain: String
  /// 0: no event yet.
  public var eseq: Int64
  public var digest: String?

  public init(chain: String, eseq: Int64, digest: String?) {
    self.chain = chain
    self.eseq = eseq
    self.digest = digest
  }
}

/// The events of one chain as far as they have been seen, in whatever order they came.
///
/// Everything derived here depends on the set of what was seen and not on the order. The part that is complete is
/// forgotten but for its end, so that memory stays bounded; what is missing from a forgotten part is not.
struct EventChain: Sendable {
  /// Links kept of a complete stretch, for duplicates that come late.
  private static let kept = 16
  /// Links and claims kept at all.
  private static let cap = 256

  /// Rising numbers, all above ``settled``.
  private var links: [EventLink] = []
  /// What reports said, by number.
  private var claims: [(eseq: Int64, digest: String)] = []
  private(set) var isForked = false
  private var forgottenLost: Int64 = 0
  private(set) var startReason: String?
  private var reachesStart = false
  /// The last number that was forgotten or acknowledged: nothing up to it is looked at again.
  private var settled: Int64?
  /// The first number that was seen before anything was forgotten.
  private var firstSeen: Int64?
  /// What was missing below ``settled`` when it was forgotten.
  private var missingBelow: [ClosedRange<Int64>] = []

  mutating func add(_ link: EventLink) {
    guard link.eseq > settled ?? 0 else { return }
    let at = links.firstIndex { $0.eseq >= link.eseq } ?? links.endIndex
    if at < links.endIndex, links[at].eseq == link.eseq {
      if links[at].digest != link.digest { isForked = true }
      // The event itself and a gap that took its place in the journal both speak for its number: the wider one stays.
      guard link.first < links[at].first else { return }
      links.remove(at: at)
    }
    if case .start(let reason) = link.content { startReason = reason }
    if link.isStart { reachesStart = true }
    links.insert(link, at: at)
    compareNeighbours(at)
    for claim in claims where claim.eseq == link.eseq && claim.digest != link.digest { isForked = true }
    compact()
  }

  private mutating func compareNeighbours(_ at: Int) {
    if at > 0 { compare(links[at - 1], links[at]) }
    if at + 1 < links.endIndex { compare(links[at], links[at + 1]) }
  }

  private mutating func compare(_ earlier: EventLink, _ later: EventLink) {
    if later.first == earlier.eseq + 1, later.prev != earlier.digest { isForked = true }
  }

  /// A report names its last event.
  mutating func claim(_ eseq: Int64, _ digest: String?) {
    guard eseq > settled ?? 0, let digest else { return }
    if let link = links.first(where: { $0.eseq == eseq }), link.digest != digest { isForked = true }
    if let known = claims.first(where: { $0.eseq == eseq }) {
      if known.digest != digest { isForked = true }
      return
    }
    claims.append((eseq, digest))
    claims.sort { $0.eseq < $1.eseq }
    if claims.count > Self.kept { claims.removeFirst() }
  }

  /// The highest number heard of.
  private var last: Int64 { max(links.last?.eseq ?? 0, claims.last?.eseq ?? 0, settled ?? 0) }

  /// Ranges of numbers that must exist and have not been seen. `fromStart`: from the first event of the chain on,
  /// else from the first one seen.
  func missing(fromStart: Bool) -> [ClosedRange<Int64>] {
    let first = firstSeen ?? settled.map { $0 + 1 } ?? links.first?.first ?? last + 1
    // A chain without its beginning lacks that, whatever else was seen.
    let atStart = fromStart && !reachesStart ? [1...max(1, first - 1)] : []
    return atStart + missingBelow + holes(in: links[...], from: settled.map { $0 + 1 } ?? first, to: last)
  }

  private func holes(in links: ArraySlice<EventLink>, from first: Int64, to last: Int64) -> [ClosedRange<Int64>] {
    var (next, ranges) = (first, [ClosedRange<Int64>]())
    for link in links {
      if link.first > next { ranges.append(next...(link.first - 1)) }
      next = max(next, link.eseq + 1)
    }
    if next <= last { ranges.append(next...last) }
    return ranges
  }

  /// Whatever chain came before it.
  var isBroken: Bool { isForked || !missing(fromStart: false).isEmpty }

  /// Events the device declared lost, and that were not seen before.
  var declaredLost: Int64 { Self.sum(forgottenLost, links.map(lost)) }

  /// What a device declares has no bound.
  static func sum(_ known: Int64, _ more: [Int64]) -> Int64 {
    more.reduce(known) { sum, next in
      let (total, isOver) = sum.addingReportingOverflow(next)
      return isOver ? .max : total
    }
  }

  private func lost(in link: EventLink) -> Int64 {
    guard case .gap(let first) = link.content else { return 0 }
    return link.eseq - first + 1 - Int64(links.count { $0.eseq >= first && $0.eseq < link.eseq })
  }

  private mutating func compact() {
    if links.count > Self.kept, missing(fromStart: false).isEmpty { forget(links.count - Self.kept) }
    if links.count > Self.cap { forget(links.count - Self.cap) }
  }

  private mutating func forget(_ count: Int) {
    let (gone, end) = (links[..<count], links[count - 1].eseq)
    forgottenLost = Self.sum(forgottenLost, gone.map(lost))
    firstSeen = firstSeen ?? settled.map { $0 + 1 } ?? links[0].first
    let below = missingBelow + holes(in: gone, from: settled.map { $0 + 1 } ?? links[0].first, to: end)
    missingBelow = Array(below.prefix(Self.kept))
    settled = end
    links.removeFirst(count)
  }

  /// An operator has looked at what is missing or contradicts itself: from here on the chain counts as whole.
  mutating func accept() {
    settled = last
    (links, claims, missingBelow, isForked) = ([], [], [], false)
    (forgottenLost, startReason, reachesStart) = (0, nil, true)
  }
}
