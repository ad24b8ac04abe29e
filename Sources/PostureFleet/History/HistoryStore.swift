public import Posture

/// One signed message of a device that was verified, or the credential of its key, with what is needed to find it again.
public struct HistoryRecord: Hashable, Sendable {
  public var device: Name
  public var kid: String
  public var kind: TokenKind
  /// Of an event its chain, in which numbers start anew; of a credential its digest, for it has no number; else empty.
  public var chain: String
  /// Of a credential when it was issued.
  public var seq: Int64
  /// Digest of the payload.
  public var digest: String
  /// Seconds since the epoch, by the device's clock.
  public var issued: Int64
  /// The same by ours, when it was first received.
  public var received: Int64
  public var verdict: Verdict?
  /// As it was received.
  public var token: [UInt8]

  public init(
    device: Name, kid: String, kind: TokenKind, chain: String = "", seq: Int64, digest: String, issued: Int64,
    received: Int64, verdict: Verdict?, token: [UInt8]
  ) {
    self.device = device
    self.kid = kid
    self.kind = kind
    self.chain = chain
    self.seq = seq
    self.digest = digest
    self.issued = issued
    self.received = received
    self.verdict = verdict
    self.token = token
  }
}

/// What became of a record.
public enum Insertion: Hashable, Sendable {
  /// Under a new number, or under one that an operator's acknowledgement lets begin anew.
  case inserted
  /// It was there.
  case duplicate
  /// The same number with another digest was there: both stay, for together they prove what was done.
  case conflict
}

/// How many devices stood where at one time.
public struct TrendSample: Hashable, Sendable {
  public var at: Int64
  /// By the text of the standing; those of none are left out.
  public var counts: [String: Int]

  public init(at: Int64, counts: [String: Int]) {
    self.at = at
    self.counts = counts
  }

  public var json: JSON {
    [
      "at": .integer(at),
      "counts": .object(counts.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .count($0.value)) }),
    ]
  }
}

extension HistoryRecord {
  /// What `export` writes: the signed original, and what finds it again.
  public var json: JSON {
    .build { object in
      object("device", .string(device.description))
      object("typ", .string(kind.rawValue))
      object("kid", .string(kid))
      object("chain", optional: kind == .event ? chain : nil)
      object("seq", .integer(seq))
      object("issued", .integer(issued))
      object("received", .integer(received))
      object("verdict", optional: verdict?.rawValue)
      object("token", .string(String(decoding: token, as: UTF8.self)))
    }
  }
}

/// Why the history cannot be written or read.
public struct HistoryError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
}

/// Keeps every verified message and credential once: keyed by (kid, kind, chain, seq). What contradicts a message that is
/// kept is kept, too.
public protocol HistoryStore: AnyObject {
  /// Records of one call are stored together or not at all. One answer for each.
  func insert(_ records: [HistoryRecord]) throws(HistoryError) -> [Insertion]
  /// What the device said, newest first.
  func records(of device: Name, limit: Int) throws(HistoryError) -> [HistoryRecord]
  /// When the latest run of reports with this verdict began, by the device's clock, and whether the device's report before
  /// that is kept, too; nil where there is none.
  func since(_ verdict: Verdict, of device: Name) throws(HistoryError) -> (at: Int64, isSeen: Bool)?
  /// The highest number of the device's reports under the key since an operator acknowledged it last, for with that its
  /// numbers may begin anew; nil where there is none.
  func newestReport(of device: Name, by kid: String) throws(HistoryError) -> Int64?
  /// Of one device or all, oldest first: the credentials, and then what was received from `since` on. Stops where `body`
  /// says false.
  func forEach(since: Int64, device: Name?, _ body: (HistoryRecord) -> Bool) throws(HistoryError)
  /// Keeps how many devices stood where.
  func add(_ sample: TrendSample) throws(HistoryError)
  /// Oldest first.
  func trend(since: Int64) throws(HistoryError) -> [TrendSample]
  /// Gives its number, which rises.
  func add(_ remark: HistoryRemark) throws(HistoryError) -> Int64
  /// Those with a higher number, oldest first, with the number of the last.
  func remarks(after number: Int64) throws(HistoryError) -> (remarks: [HistoryRemark], last: Int64)
  /// Devices of which messages are kept that contradict each other, where an operator has not accepted the earlier one,
  /// and when the last of those was received.
  func contradicted() throws(HistoryError) -> [Name: Int64]
  /// Newest first.
  func remarks(of device: Name, limit: Int) throws(HistoryError) -> [HistoryRemark]
  /// Forgets what was received before; gives how many messages. There stay breaches that are still open, of each device
  /// the newest report and the one that its verdict began with, and the credentials that are needed for what stays.
  func prune(before: Int64) throws(HistoryError) -> Int
}

extension HistoryStore {
  /// What was noticed of each device and nobody has accepted yet.
  public func openBreaches() throws(HistoryError) -> [Name: [OpenBreach]] {
    HistoryRemark.open(try remarks(after: 0).remarks, contradicted: try contradicted())
  }

  /// Whether anything is kept of the device.
  public func knows(_ device: Name) throws(HistoryError) -> Bool {
    if try !records(of: device, limit: 1).isEmpty { return true }
    return try !remarks(of: device, limit: 1).isEmpty
  }
}
