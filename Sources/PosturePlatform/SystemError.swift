import Glibc

/// An error number of the system, with what was being done and to what.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  public let errno: Int32
  /// The call or the intent: "open", "read".
  public let doing: String
  public let path: String?

  public init(_ errno: Int32, doing: String, path: String? = nil) {
    self.errno = errno
    self.doing = doing
    self.path = path
  }

  /// The error of the call that just failed on this thread.
  public static func current(_ doing: String, _ path: String? = nil) -> SystemError {
    SystemError(Glibc.errno, doing: doing, path: path)
  }

  public var isMissing: Bool { errno == ENOENT || errno == ENOTDIR }
  public var isDenied: Bool { errno == EACCES || errno == EPERM }

  /// The system's words for the number: "No such file or directory".
  public var reason: String { String(cString: strerror(errno)) }

  public var description: String {
    [path.map { "\($0): " } ?? "", "\(doing): ", reason].joined()
  }
}

/// Repeats `call` while it is interrupted by a signal; throws where it returns a negative number.
@discardableResult
public func retrying<Number: SignedInteger>(
  _ doing: String, _ path: String? = nil, _ call: () -> Number
) throws(SystemError) -> Number {
  while true {
    let result = call()
    if result >= 0 { return result }
    guard errno == EINTR else { throw .current(doing, path) }
  }
}
