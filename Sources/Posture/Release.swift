/// This version of the product.
public enum Release {
  public static let version = "0.1.0"
  /// Seconds since the epoch: no clock that shows less is right (2026-11-30).
  public static let date: Int64 = 1_795_996_800
}
