/// Why a certificate or a request for one cannot be made or is not accepted.
public struct CertificateError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: String, Sendable, CaseIterable {
    /// No DER or PEM of its kind.
    case format
    /// A request that its own key did not sign.
    case signature
    /// The key is not on P-256.
    case key
    /// A host name or address that no certificate can hold.
    case name
    /// Not signed by this authority, or outside its dates.
    case untrusted
    case library
  }
  public let code: Code
  public let detail: String?

  public init(_ code: Code, _ detail: String? = nil) {
    self.code = code
    self.detail = detail
  }

  public var description: String { "certificate: \(code.rawValue)\(detail.map { ": \($0)" } ?? "")" }
}
