/// Why a text is not JSON as we accept it, and at which byte.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: String, Sendable {
    case syntax, trailing, depth, tooLarge, number, encoding, duplicateMember
  }
  public let code: Code
  /// Offset of the offending byte.
  public let offset: Int

  public var description: String { "not acceptable JSON (\(code.rawValue) at byte \(offset))" }
}
