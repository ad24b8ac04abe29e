/// Which rows differ from what was said of them before; the age alone is no difference.
public struct RowChanges {
  private var said: [String: DeviceRow] = [:]

  public init() {}

  public mutating func take(_ rows: [DeviceRow]) -> [DeviceRow] {
    rows.filter { row in
      var timeless = row
      timeless.age = nil
      defer { said[row.name] = timeless }
      return said[row.name] != timeless
    }
  }
}
