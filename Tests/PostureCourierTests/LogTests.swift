import Testing

@testable import PostureCourier

struct LogTests {
  private final class Lines {
    var all: [String] = []
  }

  @Test func `lines have a priority, and what repeats is left out and counted`() {
    let lines = Lines()
    let log = Log { lines.all.append($0) }
    for number in 0..<1_000 { log.say(.warning, "fault", "number \(number)") }
    log.say(.error, "other", "heard all the same")
    #expect(lines.all.first == "<4>number 0")
    #expect(lines.all.count == 11)
    #expect(lines.all.last == "<3>heard all the same")
  }

  @Test func `text from outside neither moves a cursor nor begins a line`() {
    let lines = Lines()
    let log = Log { lines.all.append($0) }
    log.say(.info, "topic", "a\n<3>forged\u{1B}[2J\u{7F}" + String(repeating: "x", count: 5_000))
    #expect(lines.all[0].hasPrefix("<6>a?<3>forged?[2J?x"))
    #expect(lines.all[0].unicodeScalars.count == 2_003)
  }
}
