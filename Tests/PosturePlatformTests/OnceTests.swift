import PosturePlatform
import Synchronization
import Testing

struct OnceTests {
  @Test(arguments: 0..<200) func `a value is made once, whichever thread comes first`(round: Int) {
    let once = Once<Int>()
    let made = Counter()
    let need = { @Sendable in once.value { made.value.add(1, ordering: .relaxed).newValue } }
    let values = PosturePlatform.Thread.both("need", need, need)
    #expect(values == (1, 1))
  }

  @Test(arguments: 0..<200) func `both pieces of work are done once, whoever comes to the first`(round: Int) {
    let (first, second) = (Counter(), Counter())
    let values = PosturePlatform.Thread.both(
      "first", { first.value.add(1, ordering: .relaxed).newValue },
      {
        for _ in 0..<round * 10 { _ = second.value.load(ordering: .relaxed) }
        return second.value.add(1, ordering: .relaxed).newValue
      })
    #expect(values == (1, 1))
  }

  private final class Counter: Sendable {
    let value = Atomic<Int>(0)
  }
}
