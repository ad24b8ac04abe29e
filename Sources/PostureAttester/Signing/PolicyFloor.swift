import Posture

extension Policy {
  /// Whether a device that passes this policy might fail `floor`: a demand is weaker, or an open door is excused.
  func isBelow(_ floor: Policy) -> Bool {
    !intended.allSatisfy(floor.intended.contains)
      || CheckName.allCases.contains { demand(of: $0).strength < floor.demand(of: $0).strength }
  }
}

extension Policy.Demand {
  fileprivate var strength: Int {
    switch self {
    case .inform: 0
    case .requireIfPresent: 1
    case .require: 2
    }
  }
}
