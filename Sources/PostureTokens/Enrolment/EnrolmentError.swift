/// Why a request or a bundle is not taken.
public enum EnrolmentError: Error, Hashable, Sendable, CustomStringConvertible {
  case token(TokenError)
  case certificate(CertificateError)
  case key(KeyError)
  /// The request is signed by another key than the one it names.
  case notItsOwnKey
  /// The bundle is for another key, another party or another role: which part says so.
  case mismatch(String)

  public var description: String {
    switch self {
    case .token(let error): error.description
    case .certificate(let error): error.description
    case .key(let error): error.description
    case .notItsOwnKey: "the request is not signed by the key that it names"
    case .mismatch(let what): "the bundle does not fit: \(what)"
    }
  }
}
