import PosturePlatform
import Testing

struct BucketTests {
  @Test func `a burst, then one in each interval`() {
    var bucket = Bucket(every: 30_000, burst: 3)
    #expect((0..<5).map { _ in bucket.takeNow(0) } == [true, true, true, false, false])
    #expect(bucket.next(0) == 30_000)
    #expect([29_999, 30_000, 30_001].map { bucket.takeNow($0) } == [false, true, false])
    #expect((0..<4).map { _ in bucket.takeNow(1_000_000) } == [true, true, true, false])
  }

  @Test func `over any time it lets through its burst and its rate, no more`() {
    for step: Int64 in [1, 77, 1_000, 9_999, 30_000, 45_000] {
      var bucket = Bucket(every: 30_000, burst: 3)
      var taken: Int64 = 0
      let last = step * 2_000
      for now in stride(from: Int64(0), through: last, by: Int(step)) where bucket.takeNow(now) { taken += 1 }
      #expect(taken <= 3 + last / 30_000, "step \(step)")
    }
  }
}
