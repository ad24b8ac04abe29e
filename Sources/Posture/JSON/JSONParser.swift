/// Strict RFC 8259 parser: UTF-8 only, no duplicate member at any depth, bounded depth and size.
///
/// Common JSON libraries take the last of two members of one name, so that two readers of one signed text may see two
/// different messages; here a duplicate is an error.
public enum JSONParser {
  /// The one value that `bytes` hold.
  public static func parse(_ bytes: [UInt8], limits: Limits = .message) throws(JSONError) -> JSON {
    guard bytes.count <= limits.bytes else { throw JSONError(code: .tooLarge, offset: limits.bytes) }
    let result: Result<JSON, JSONError> = bytes.withUnsafeBufferPointer { buffer in
      guard var scanner = JSONScanner(buffer, limits) else { return .failure(JSONError(code: .syntax, offset: 0)) }
      do throws(JSONError) {
        let value = try scanner.value(depth: 0, limits.excerpt)
        try scanner.end()
        return .success(value)
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  public static func parse(_ text: String, limits: Limits = .message) throws(JSONError) -> JSON {
    try parse(Array(text.utf8), limits: limits)
  }
}

extension JSONScanner {
  /// The next value. `excerpt`: how much of it is kept; nil: all.
  fileprivate mutating func value(depth: Int, _ excerpt: JSONParser.Excerpt? = nil) throws(JSONError) -> JSON {
    switch try kind(depth: depth) {
    case .string: return .string(text(of: try string()))
    case .object:
      guard let excerpt else { return .object(try members(depth)) }
      return .object(try members(depth, excerpt))
    case .array:
      var values: [JSON] = []
      try array { scanner throws(JSONError) in values.append(try scanner.value(depth: depth + 1, excerpt)) }
      return .array(values)
    case .number:
      let start = at
      return try number().map(JSON.integer) ?? .number(text(from: start))
    case .word: return try word().map(JSON.bool) ?? .null
    }
  }

  private mutating func members(_ depth: Int) throws(JSONError) -> [JSON.Member] {
    var members: [JSON.Member] = []
    // Most of our objects have several members; growing from one to four would allocate three times.
    members.reserveCapacity(4)
    try object { scanner, name throws(JSONError) in
      members.append(JSON.Member(scanner.text(of: name), try scanner.value(depth: depth + 1)))
    }
    return members
  }

  private mutating func members(_ depth: Int, _ excerpt: JSONParser.Excerpt) throws(JSONError) -> [JSON.Member] {
    var members: [JSON.Member] = []
    members.reserveCapacity(excerpt.members.count)
    try object { scanner, spelling throws(JSONError) in
      let name = scanner.text(of: spelling)
      let place = excerpt.place(of: name)
      guard place != nil || excerpt.keepsOthers else { return try scanner.pass(depth: depth + 1) }
      let part = place.flatMap { excerpt.members[$0].excerpt }
      members.append(JSON.Member(name, try scanner.value(depth: depth + 1, part)))
    }
    return members
  }
}
