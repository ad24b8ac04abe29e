import Posture

/// What a file system stands on, from the top down.
indirect enum Ground: Hashable, Sendable {
  /// Nothing encrypts it.
  case plain
  /// An encrypted mapping, and what that stands on.
  case mapping(String, on: Ground)
  /// Several devices, each of which holds a part or a copy.
  case legs([Ground])
  case unknown(Cause)

  /// The legs of it, or itself.
  var parts: [Ground] { if case .legs(let legs) = self { legs } else { [self] } }
  var isUnknown: Bool { if case .unknown = self { true } else { false } }

  /// Every encrypted mapping in it.
  var mappings: [String] {
    switch self {
    case .plain, .unknown: []
    case .mapping(let name, let on): [name] + on.mappings
    case .legs(let legs): legs.flatMap(\.mappings)
    }
  }

  /// The mapping that everything in it lies on, where that is one.
  var soleMapping: String? {
    switch self {
    case .mapping(let name, _): name
    case .legs(let legs):
      Set(legs.map(\.soleMapping)).count == 1 ? legs.first.flatMap(\.soleMapping) : nil
    case .plain, .unknown: nil
    }
  }
}
