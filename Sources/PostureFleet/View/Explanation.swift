import Posture

/// What a code means and what to do about it: of a finding, a state, a breach, or a refusal.
public struct Explanation: Hashable, Sendable {
  public let code: String
  public let meaning: String
  public let advice: String

  /// nil for a code that this version does not know.
  public init?(_ code: String) {
    self.code = code
    if let finding = FindingCatalogue[code] {
      (meaning, advice) = (finding.meaning, finding.advice)
    } else if let condition = Condition(rawValue: code) {
      (meaning, advice) = (condition.meaning, condition.advice)
    } else if let refusal = RefusalCode(rawValue: code) {
      (meaning, advice) = (refusal.meaning, refusal.advice)
    } else if code == Breach.declaredLoss.rawValue {
      meaning = "The device declares, signed, that it lost events: its store was full, damaged or gone."
      advice = "Look at the device's disk and how long it was away; then posturectl acknowledge."
    } else {
      return nil
    }
  }

  /// Every code there is, findings first.
  public static var codes: [String] {
    FindingCatalogue.all.map(\.code).sorted() + Condition.allCases.map(\.rawValue) + [Breach.declaredLoss.rawValue]
      + RefusalCode.allCases.map(\.rawValue)
  }
}

extension RefusalCode {
  var meaning: String {
    switch self {
    case .expired: "The command's time was over when the device saw it."
    case .tooLong: "The command asks to be good for longer than a device takes."
    case .rateLimited: "The device has been asked too often in too short a time."
    case .trustExpired: "The device's trust document has expired: it obeys nobody."
    case .staleChallenge: "The device has no clock to trust, and the command does not name its present connection."
    case .unsupported: "The device's agent does not know this command."
    case .busy: "The device is working on as many commands as it can."
    }
  }

  var advice: String {
    switch self {
    case .expired: "Compare the clocks of device and controller, and ask again."
    case .tooLong: "Ask with a life of at most 300 seconds."
    case .rateLimited, .busy: "Ask again in a minute."
    case .trustExpired: "Run posturectl trust renew; the device takes the new document from the broker."
    case .staleChallenge: "Ask the device by its own name, so that its presence is looked up."
    case .unsupported: "Update the agent."
    }
  }
}
