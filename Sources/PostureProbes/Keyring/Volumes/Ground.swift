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

  /// An encrypted mapping stands before every part of it.
  var isEncrypted: Bool {
    switch self {
    case .mapping: true
    case .legs(let legs): legs.allSatisfy(\.isEncrypted)
    case .plain, .unknown: false
    }
  }

  /// A mapping in it, with what that stands on.
  func layer(_ mapping: String) -> Ground? {
    switch self {
    case .mapping(let name, let on): name == mapping ? self : on.layer(mapping)
    case .legs(let legs): legs.lazy.compactMap { $0.layer(mapping) }.first
    case .plain, .unknown: nil
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
