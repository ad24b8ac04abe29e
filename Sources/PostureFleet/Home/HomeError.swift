/// Why the folder of an operator cannot be used for what was asked.
public struct HomeError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: Hashable, Sendable {
    /// A file is not there.
    case missing
    /// A file is there and says something that cannot be.
    case damaged
    /// It is there already and would be lost.
    case exists
    /// The system refused.
    case system
    /// What was asked is not allowed.
    case refused
  }
  public let code: Code
  public let description: String

  public init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
