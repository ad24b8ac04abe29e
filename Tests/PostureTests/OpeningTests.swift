import Posture
import Testing

struct OpeningTests {
  @Test func `only minimal sets stay, sorted by size and then by name`() {
    let opening = Opening([.token, .passcode], [.passcode], [.biometric], [.device, .biometric], [.code, .token])
    #expect(opening.json.text == #"[["biometric"],["passcode"],["code","token"]]"#)
  }

  @Test(arguments: [
    (Opening.never, Answer.closed), (.always, .notRequired), (.passcode, .required), (Opening([.device]), .notRequired),
    (Opening([.device, .passcode]), .required), (Opening([.device], [.passcode]), .notRequired),
    (Opening([.recovery]), .required),
  ])
  func `the answer follows from the sets`(opening: Opening, answer: Answer) {
    #expect(opening.answer == answer)
  }

  @Test func `either and both`() {
    let card = Opening([.token])
    #expect(Opening.passcode.or(card) == Opening([.passcode], [.token]))
    #expect(Opening.passcode.and(card) == Opening([.passcode, .token]))
    #expect(Opening.passcode.and(.always) == .passcode)
    #expect(Opening.passcode.or(.always) == .always)
    #expect(Opening.passcode.and(.never) == .never)
    #expect(Opening.passcode.or(.never) == .passcode)
  }

  /// Both operations are those of monotone Boolean functions: checked against their truth tables for all small antichains.
  @Test func `openings behave as monotone functions of the factors shown`() {
    let all = FactorSet(.passcode, .token, .device)
    let openings = all.subsets.flatMap { one in all.subsets.map { Opening([one, $0]) } } + [.never]
    for left in openings {
      for right in openings {
        for shown in all.subsets {
          #expect(opens(left.and(right), shown) == (opens(left, shown) && opens(right, shown)))
          #expect(opens(left.or(right), shown) == (opens(left, shown) || opens(right, shown)))
        }
      }
    }
  }

  private func opens(_ opening: Opening, _ shown: FactorSet) -> Bool {
    opening.sets.contains { $0.isSubset(of: shown) }
  }
}
