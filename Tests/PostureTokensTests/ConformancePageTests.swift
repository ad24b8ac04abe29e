import Posture
import PosturePlatform
@testable import PostureTokens
import TestKit
import Testing

/// schemas/README.md is complete, and its example is the one that is signed in the vectors.
@Suite struct ConformancePageTests {
  private let page: String

  init() throws { page = String(decoding: try AtomicFile.readAny(Repository.path("schemas/README.md")), as: UTF8.self) }

  /// The words in backquotes of the first column of the table below a heading.
  private func names(below heading: String) throws -> Set<String> {
    let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex(of: Substring(heading)))
    let table = lines[(start + 1)...].drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }
    let cells = table.compactMap { $0.split(separator: "|").first }
    return Set(
      cells.flatMap { $0.split(separator: "`").enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) } })
  }

  @Test func `every claim of a report is explained`() throws {
    let schema = try JSONParser.parse(
      try AtomicFile.readAny(Repository.path("schemas/report.schema.json")), limits: .foreign)
    let claims = try #require(schema["properties"]?.members).map(\.name)
    #expect(try names(below: "### Claims of a report") == Set(claims))
  }

  @Test func `every kind of token is listed with its limit`() throws {
    #expect(try names(below: "## The kinds of token").subtracting(["typ"]) == Set(TokenKind.allCases.map(\.rawValue)))
    for kind in TokenKind.allCases {
      let row = try #require(page.split(separator: "\n").first { $0.hasPrefix("| `\(kind.rawValue)` |") })
      #expect(row.hasSuffix("| \(kind.sizeLimit) |"), "\(kind)")
      #expect(row.contains("| \(Schema.name(of: kind)) |"), "\(kind)")
    }
  }

  @Test func `the example is the signed report's`() throws {
    let start = try #require(page.firstRange(of: "```json\n"))
    let text = page[start.upperBound...]
    let end = try #require(text.firstRange(of: "\n```"))
    let example = try JSONParser.parse(String(text[..<end.lowerBound]))
    let vector = try Vector.load("accept/report")
    let token = try TokenDecoder.decode(vector.body, kinds: [.report])
    #expect(example == (try token.unverifiedClaims()))
  }
}
