/// Collects the members of an object, leaving out what is not there.
public struct JSONBuilder {
  fileprivate var members: [JSON.Member] = []

  public mutating func callAsFunction(_ name: String, _ value: JSON) { members.append(JSON.Member(name, value)) }

  /// Nothing for nil.
  public mutating func callAsFunction(_ name: String, optional value: String?) {
    if let value { self(name, .string(value)) }
  }
}

extension JSON {
  public static func build(_ fill: (inout JSONBuilder) -> Void) -> JSON {
    var builder = JSONBuilder()
    fill(&builder)
    return .object(builder.members)
  }
}
