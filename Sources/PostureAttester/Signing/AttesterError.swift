public import Posture

/// Why the attester does not do what it was asked for.
public struct AttesterError: Error, Hashable, Sendable, CustomStringConvertible {
  public let code: AttesterFailure
  public let why: String

  public init(_ code: AttesterFailure, _ why: String) {
    self.code = code
    self.why = why
  }

  init(_ error: JournalError) { self.init(error.code == .busy ? .busy : .store, error.description) }

  public var description: String { "\(code.rawValue): \(why)" }
}
