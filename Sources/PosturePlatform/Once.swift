import Synchronization

/// A value that is made when somebody first needs it, by whichever thread that is; the others wait for it.
public final class Once<Value: Sendable>: Sendable {
  private let known = Mutex<Value?>(nil)

  public init() {}

  /// - Parameter make: must not need the same value.
  public func value(_ make: () -> Value) -> Value {
    known.withLock { known in
      if let known { return known }
      let made = make()
      known = made
      return made
    }
  }
}
