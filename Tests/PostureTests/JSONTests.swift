import Posture
import TestKit
import Testing

struct JSONTests {
  @Test(arguments: [
    "null", "true", "-1", "9223372036854775807", "\"\"", "\"ä€😀\"", "[]", "{}", "[1,[2,[3]],{\"a\":\"b\",\"c\":null}]",
  ])
  func `what is written is what was read`(text: String) throws {
    #expect(try JSONParser.parse(text).text == text)
  }

  @Test func `escapes are resolved, and written only where needed`() throws {
    #expect(try JSONParser.parse(#""\u0041\/\n\u00e9\ud83d\ude00\"""#).text == #""A/\né😀\"""#)
    #expect(JSON.string("\u{7F}\u{0}").text == #""\u007f\u0000""#)
  }

  @Test(arguments: [
    ("", JSONError.Code.syntax), ("nul", .syntax), ("01", .syntax), ("1.", .syntax), ("+1", .syntax), ("[1,]", .syntax),
    ("{\"a\":1,}", .syntax), ("{a:1}", .syntax), ("\"\n\"", .syntax), ("\"\\x\"", .syntax), ("NaN", .syntax),
    ("1 2", .trailing), ("{}x", .trailing), ("\u{FEFF}{}", .syntax), ("\"\\ud800\"", .encoding),
    ("\"\\udc00\"", .encoding), ("1.5", .number), ("1e3", .number), ("-0", .number), ("9223372036854775808", .number),
    ("{\"a\":1,\"b\":{\"c\":1,\"c\":2}}", .duplicateMember), ("{\"a\":1,\"\\u0061\":2}", .duplicateMember),
    ("{\"ab\":{\"ab\":1},\"cd\":2,\"ab\":3}", .duplicateMember), ("{\"\\u00e9\":1,\"é\":2}", .duplicateMember),
    ("\"12345678\t\"", .syntax), ("\"123456789abcdef\u{1F}\"", .syntax),
  ])
  func `what is no JSON of ours is refused with its reason`(text: String, code: JSONError.Code) {
    #expect { try JSONParser.parse(text) } throws: { ($0 as? JSONError)?.code == code }
  }

  @Test func `bytes that are no UTF-8 are refused`() {
    #expect { try JSONParser.parse([0x22, 0xC3, 0x28, 0x22]) } throws: { ($0 as? JSONError)?.code == .encoding }
  }

  @Test func `a duplicate among many members is found`() {
    let many = (0..<100).map { "\"m\($0)\":\($0)" } + ["\"m7\":0"]
    #expect { try JSONParser.parse("{\(many.joined(separator: ","))}") } throws: {
      ($0 as? JSONError)?.code == .duplicateMember
    }
  }

  /// Names are told apart by eight bytes at once, and by the rest where those are the same.
  @Test func `two names are the same only where every byte is`() throws {
    for length in 0..<20 {
      let name = String(repeating: "n", count: length)
      #expect { try JSONParser.parse("{\"\(name)\":0,\"\(name)\":0}") } throws: {
        ($0 as? JSONError)?.code == .duplicateMember
      }
      for place in 0...length {
        var other = Array(name.utf8)
        if place < length { other[place] = UInt8(ascii: "m") } else { other.append(UInt8(ascii: "m")) }
        let text = "{\"\(name)\":0,\"\(String(decoding: other, as: UTF8.self))\":0}"
        #expect(try JSONParser.parse(text).members?.count == 2, "\(text)")
      }
    }
  }

  @Test(arguments: 0..<20)
  func `a name is not that of which it is the beginning`(length: Int) throws {
    for longer in [1, 255, 256, 257, 512] {
      let name = String(repeating: "n", count: length)
      let text = "{\"\(name)\":0,\"\(name + String(repeating: "n", count: longer))\":0}"
      #expect(try JSONParser.parse(text).members?.count == 2, "\(length) and \(longer) more")
    }
  }

  /// Every length around the eight bytes that are looked at together, and every byte at every place of them.
  @Test func `a text ends where it ends`() throws {
    var wrong: [[UInt8]] = []
    for length in 0..<20 {
      for place in 0..<max(1, length) {
        for byte in UInt8(0)...127 {
          var text = [UInt8](repeating: 0x61, count: length)
          if length > 0 { text[place] = byte }
          let isPlain = length == 0 || (byte >= 0x20 && byte != 0x22 && byte != 0x5C)
          let read = try? JSONParser.parse([0x22] + text + [0x22])
          if isPlain != (read == .string(String(decoding: text, as: UTF8.self))) { wrong.append(text) }
        }
      }
    }
    #expect(wrong.isEmpty)
  }

  @Test func `of an excerpt the rest is read as strictly`() throws {
    var limits = JSONParser.Limits.message
    limits.excerpt = .all(but: ["e": .only(["k": nil, "l": .only(["m": nil])])])
    let text =
      #"{"a":{"x":1},"e":{"k":[{"z":"y"}],"doors":[{"b":"c","d":["e",{"f":"\u00e9"}]},1],"l":[{"m":2,"n":3}]},"z":{"k":3}}"#
    let read = try JSONParser.parse(text, limits: limits)
    #expect(read.text == #"{"a":{"x":1},"e":{"k":[{"z":"y"}],"l":[{"m":2}]},"z":{"k":3}}"#)
    // What is left out is as wrong as what is kept, at every place where a document can be spoilt.
    var generator = SplitMix(7)
    for _ in 0..<20_000 {
      var bytes = Array(text.utf8)
      let place = Int.random(in: 0..<bytes.count, using: &generator)
      switch Int.random(in: 0..<3, using: &generator) {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
      case 1: bytes.remove(at: place)
      default: bytes.insert(contentsOf: bytes[Int.random(in: 0...place, using: &generator)...place], at: place)
      }
      let (whole, part) = (error(in: bytes, .message), error(in: bytes, limits))
      #expect(whole == part, "\(String(decoding: bytes, as: UTF8.self))")
    }
  }

  private func error(in bytes: [UInt8], _ limits: JSONParser.Limits) -> JSONError? {
    do throws(JSONError) { _ = try JSONParser.parse(bytes, limits: limits) } catch { return error }
    return nil
  }

  @Test func `depth and size are bounded`() {
    let deep = String(repeating: "[", count: 200_000)
    #expect { try JSONParser.parse(deep, limits: .foreign) } throws: { ($0 as? JSONError)?.code == .depth }
    let large = "\"" + String(repeating: "x", count: 70_000) + "\""
    #expect { try JSONParser.parse(large) } throws: { ($0 as? JSONError)?.code == .tooLarge }
  }

  @Test func `numbers of foreign documents keep their spelling`() throws {
    let read = try JSONParser.parse("[1.50,-0,18446744073709551616,7]", limits: .foreign)
    #expect(read == [.number("1.50"), .number("-0"), .number("18446744073709551616"), 7])
  }

  /// Mutations of a real document: never a crash; what is accepted is written and read again as the same value.
  @Test func `mutated documents are refused or read the same twice`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("JSON mutation seed \(seed)")
    var random = SplitMix(seed)
    let original = Array(#"{"a":[1,-20,true,null,"x\n\u00e9"],"b":{"c":"d","e":[]},"f":12345678901}"#.utf8)
    for _ in 0..<20_000 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: at)
        default: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: at)
        }
      }
      guard let value = try? JSONParser.parse(bytes) else { continue }
      #expect(try JSONParser.parse(value.bytes) == value)
    }
  }
}
