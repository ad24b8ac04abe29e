public import Posture

/// What is kept beside the signed messages: what the monitor noticed, and what an operator said to it. Never changed.
public struct HistoryRemark: Hashable, Sendable {
  public enum Kind: Hashable, Sendable {
    case noticed(OpenBreach)
    /// What was missing came after all, or the device has begun a whole new chain.
    case ended(Breach)
    /// An operator has looked, and accepts everything up to here.
    case acknowledged(why: String)
    /// So many messages of the device could not be stored, and are not in the history.
    case unstored(Int)
  }

  public var device: Name
  /// Seconds since the epoch.
  public var at: Int64
  /// Who noticed or said it.
  public var by: String
  public var kind: Kind

  public init(device: Name, at: Int64, by: String, kind: Kind) {
    self.device = device
    self.at = at
    self.by = by
    self.kind = kind
  }

  /// In words.
  public var text: String {
    switch kind {
    case .noticed(let breach): "\(breach.breach.rawValue): \(breach.text)"
    case .ended(let breach): "\(breach.rawValue) is over"
    case .acknowledged(let why): "acknowledged by \(by): \(why)"
    case .unstored: "\(row.what): \(row.text)"
    }
  }

  public var json: JSON {
    .build { object in
      object("device", .string(device.description))
      object("at", .integer(at))
      object("by", .string(by))
      object("remark", .string(row.what))
      object("text", .string(row.text))
    }
  }

  /// What is still open after all of these, oldest first. `contradicted`: when a message was stored last that contradicts
  /// another one of the device, for the monitor may have been killed before it could remark on it.
  public static func open(_ remarks: [HistoryRemark], contradicted: [Name: Int64] = [:]) -> [Name: [OpenBreach]] {
    var breaches = open(remarks)
    let unseen = contradicted.filter { device, at in
      !remarks.contains { $0.device == device && $0.at >= at && $0.row.what == acknowledged }
    }
    for device in unseen.keys where !breaches[device, default: []].contains(where: { $0.breach == .equivocation }) {
      breaches[device, default: []].append(.equivocation)
    }
    return breaches
  }

  private static func open(_ remarks: [HistoryRemark]) -> [Name: [OpenBreach]] {
    remarks.reduce(into: [:]) { open, remark in
      switch remark.kind {
      case .noticed(let breach):
        open[remark.device, default: []].removeAll { $0.breach == breach.breach && $0.chain == breach.chain }
        open[remark.device, default: []].append(breach)
      case .ended(let breach): open[remark.device]?.removeAll { $0.breach == breach }
      case .acknowledged: open[remark.device] = nil
      case .unstored: break
      }
    }.filter { !$0.value.isEmpty }
  }
}

extension HistoryRemark {
  /// Who notices.
  static let monitor = "monitor"
  static let acknowledged = "acknowledged"
  static let unstored = "unstored"
  private static let over = " over"

  /// As it is stored.
  var row: (what: String, chain: String, text: String) {
    switch kind {
    case .noticed(let breach): (breach.breach.rawValue, breach.chain, breach.text)
    case .ended(let breach): (breach.rawValue + Self.over, "", "")
    case .acknowledged(let why): (Self.acknowledged, "", why)
    case .unstored(let count): (Self.unstored, "", "\(count) messages could not be stored and are lost")
    }
  }

  static func kind(what: String, chain: String, text: String) -> Kind? {
    if what == acknowledged { return .acknowledged(why: text) }
    if what == unstored { return Int(text.prefix { $0.isNumber }).map(Kind.unstored) }
    if what.hasSuffix(over) { return Breach(rawValue: String(what.dropLast(over.count))).map(Kind.ended) }
    return Breach(rawValue: what).map { .noticed(OpenBreach($0, chain: chain, text: text)) }
  }
}
