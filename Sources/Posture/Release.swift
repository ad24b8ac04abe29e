/// This version of the product.
public enum Release {
  public static let version = "0.1.0"
}
