import Glibc
import PosturePlatform
import TestKit
import Testing

@Suite struct LineReaderTests {
  private func lines(_ text: String, cap: Int) throws -> [LineReader.Line] {
    let folder = try Folder()
    var reader = LineReader(try Descriptor.open(try folder.write("file", text), O_RDONLY), cap: cap)
    var lines: [LineReader.Line] = []
    while let line = try reader.next() { lines.append(line) }
    #expect(try reader.next() == nil)
    return lines
  }

  private func line(_ text: String) -> LineReader.Line { .bytes(Array(text.utf8)) }

  @Test func `every line comes once, the last one without its end too`() throws {
    #expect(try lines("", cap: 10) == [])
    #expect(try lines("\n", cap: 10) == [line("")])
    #expect(try lines("a\n\nb", cap: 10) == [line("a"), line(""), line("b")])
    #expect(try lines("a\n\nb\n", cap: 10) == [line("a"), line(""), line("b")])
  }

  @Test func `a line that is too long is told, and costs the others nothing`() throws {
    #expect(try lines("12345\n123456\n1\n", cap: 5) == [line("12345"), .tooLong, line("1")])
    #expect(try lines("123456", cap: 5) == [.tooLong])
    let huge = String(repeating: "x", count: 1_000_000)
    #expect(try lines("\(huge)\na\n\(huge)", cap: 100) == [.tooLong, line("a"), .tooLong])
    #expect(try lines("\(huge)\na", cap: 1_000_000) == [line(huge), line("a")])
  }

  @Test func `lines of every length around a read are whole`() throws {
    for length in 65_530...65_540 {
      let text = String(repeating: "y", count: length)
      #expect(try lines("\(text)\nend\n", cap: 100_000) == [line(text), line("end")], "\(length)")
    }
  }
}
