import PosturePlatform
import Testing

struct QueueTests {
  @Test func `what is put in comes out in order, whatever is taken between`() {
    var queue = Queue<Int>()
    var (put, taken) = (0, 0)
    for round in 0..<200 {
      for _ in 0..<(round % 7) * 100 {
        queue.put(put)
        put += 1
      }
      for _ in 0..<(round % 11) * 60 {
        guard let element = queue.take() else { break }
        #expect(element == taken)
        taken += 1
      }
    }
    while let element = queue.take() {
      #expect(element == taken)
      taken += 1
    }
    #expect(taken == put)
    #expect(queue.isEmpty)
    #expect(queue.take() == nil)
  }

  @Test func `what was taken is let go`() {
    final class Thing {}
    var queue = Queue<Thing>()
    weak var first: Thing?
    for number in 0..<3_000 {
      let thing = Thing()
      if number == 0 { first = thing }
      queue.put(thing)
    }
    for _ in 0..<2_999 { _ = queue.take() }
    #expect(first == nil)
  }
}
