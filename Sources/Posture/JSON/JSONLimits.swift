extension JSONParser {
  /// What a document may be, and how much of it is wanted.
  public struct Limits: Sendable {
    public var bytes: Int
    public var depth: Int
    /// Keep numbers that are no 64-bit integers as ``JSON/number(_:)`` instead of refusing them.
    public var anyNumber: Bool
    public var excerpt: Excerpt?

    public init(bytes: Int, depth: Int, anyNumber: Bool = false, excerpt: Excerpt? = nil) {
      self.bytes = bytes
      self.depth = depth
      self.anyNumber = anyNumber
      self.excerpt = excerpt
    }

    /// Our own signed messages.
    public static let message = Limits(bytes: 65_536, depth: 16)
    /// Output of the system's tools, LUKS headers and the like.
    public static let foreign = Limits(bytes: 8 << 20, depth: 64, anyNumber: true)
  }
}
