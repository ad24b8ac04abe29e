import PosturePlatform
import Synchronization
import Testing

struct WorkQueueTests {
  @Test func `everything of several threads is taken in their order, and no more waits than fits`() throws {
    let queue = try WorkQueue<(thread: Int, number: Int)>(cap: 16)
    let threads = try (0..<4).map { thread in
      Joined(
        try Thread.start("put") {
          for number in 0..<2_000 { queue.put((thread, number)) }
        })
    }
    var next = [0, 0, 0, 0]
    var most = 0
    while next != [2_000, 2_000, 2_000, 2_000] {
      let items = try #require(queue.takeAll())
      most = max(most, items.count)
      for item in items {
        #expect(next[item.thread] == item.number)
        next[item.thread] += 1
      }
    }
    #expect(most <= 16)
    threads.forEach { $0.join() }
  }

  @Test func `what is there at the end is still taken, and nobody waits any more`() throws {
    let queue = try WorkQueue<Int>(cap: 2)
    queue.put(1)
    queue.put(2)
    queue.post(3)
    queue.end()
    queue.put(4)
    #expect(queue.takeAll() == [1, 2, 3, 4])
    #expect(queue.takeAll() == nil)
    #expect(queue.takeAll() == nil)
  }

  @Test func `whoever takes waits for the first, and a while for more`() throws {
    let queue = try WorkQueue<Int>(cap: 100)
    let thread = Joined(
      try Thread.start("put") {
        Clock.sleep(milliseconds: 50)
        queue.put(1)
        Clock.sleep(milliseconds: 20)
        queue.put(2)
      })
    #expect(queue.takeAll(after: 2_000) == [1, 2])
    thread.join()
  }

  @Test func `whoever waits for so long only gets none where there is none`() throws {
    let queue = try WorkQueue<Int>(cap: 2)
    #expect(queue.takeAll(within: 0) == [])
    queue.put(1)
    #expect(queue.takeAll(within: 0) == [1])
    queue.end()
    #expect(queue.takeAll(within: 0) == nil)
  }

  /// A thread in an array: joined once.
  private final class Joined {
    private var thread: Thread?

    init(_ thread: consuming Thread) { self.thread = consume thread }

    func join() { if let thread = thread.take() { thread.join() } }
  }
}
