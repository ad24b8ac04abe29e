/// Which rows differ from what was said of them before; the age alone is no difference.
public struct RowChanges {
  /// Only a hash of each: a fleet is large, and who has to be told of a change that the hash hides is told of the next.
  private var said: [String: Int] = [:]

  public init() {}

  public mutating func take(_ rows: [DeviceRow]) -> [DeviceRow] {
    rows.filter { row in
      var timeless = row
      timeless.age = nil
      let hash = timeless.hashValue
      defer { said[row.name] = hash }
      return said[row.name] != hash
    }
  }
}
