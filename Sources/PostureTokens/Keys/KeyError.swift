public import PosturePlatform

/// Why a private key cannot be made, read or used.
public struct KeyError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: String, Sendable, CaseIterable {
    /// The file: ``underlying``.
    case file
    /// No PKCS #8 PEM, or one with a passphrase.
    case format
    /// Not on the curve P-256.
    case curve
    /// No point of the curve.
    case point
    /// The library failed to make a key or a signature.
    case library
    /// No TPM, no provider, or no key at the handle.
    case tpm
    /// What was to be signed makes a token larger than receivers take (``TokenKind/sizeLimit``).
    case size
  }
  public let code: Code
  public let detail: String?
  public let underlying: SystemError?

  public init(_ code: Code, _ detail: String? = nil, underlying: SystemError? = nil) {
    self.code = code
    self.detail = detail
    self.underlying = underlying
  }

  public var description: String {
    underlying.map { "key: \($0)" } ?? "key: \(code.rawValue)\(detail.map { ": \($0)" } ?? "")"
  }
}
