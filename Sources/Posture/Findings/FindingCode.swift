/// What a finding means, and how to mend it: one entry per stable code.
public struct FindingCode: Sendable {
  /// Lower camel case; never renamed.
  public let code: String
  /// One sentence: what is the matter.
  public let meaning: String
  /// One or two sentences: what to do about it.
  public let advice: String

  init(_ code: String, _ meaning: String, advice: String) {
    self.code = code
    self.meaning = meaning
    self.advice = advice
  }
}

/// Every code that this version can report.
public enum FindingCatalogue {
  public static let all: [FindingCode] =
    general + accountFindings + entryFindings + remoteFindings + elevationFindings + lockFindings + secretFindings

  private static let byCode = Dictionary(uniqueKeysWithValues: all.map { ($0.code, $0) })

  public static subscript(code: String) -> FindingCode? { byCode[code] }
}
