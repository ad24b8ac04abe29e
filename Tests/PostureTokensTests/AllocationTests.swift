import Glibc
import Posture
import PosturePlatform
@testable import PostureTokens
import TestKit
import Testing

/// What an input that is refused costs in memory.
struct AllocationTests {
  @Test(.enabled(if: CCompiler.path != nil && !Allocations.isCounted, "needs a C compiler"))
  func `what is refused costs no more than its own size`() throws {
    let output = try Allocations.run("RefusedInput")
    let text = String(decoding: output.out + output.err, as: UTF8.self)
    #expect(output.status == 0, "\(text.suffix(3_000))")
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("refused: ") }, "\(text.suffix(3_000))")
    print(line)
  }
}

/// Runs in the process that counts.
@Suite(.enabled(if: Allocations.isCounted, "counts in a process of its own"))
struct RefusedInput {
  /// What any input costs, however long it is: a header of 512 bytes (the cap) as JSON, the key id and the error.
  private static let constant = 8_192

  private let key: PublicKey
  private let honest: [UInt8]
  private let kinds: [TokenKind]

  init() throws {
    let vector = try Vector.load("accept/report-chain")
    key = try PublicKey(JWK(claims: vector.key!))
    honest = vector.body
    kinds = Topic(vector.topic)!.kinds
  }

  @Test func `a refused token holds at most its own bytes again`() throws {
    // What the first call sets up for good is not the input's.
    _ = try? TokenDecoder.decode(honest, kinds: kinds).verified(by: key)
    var (inputs, dearest) = (0, 0)
    for (name, bytes) in try hostile() + vectors() {
      let other = bytes
      var isRefused = false
      let count = Allocations.count {
        do { _ = try TokenDecoder.decode(other, kinds: kinds).verified(by: key) } catch { isRefused = true }
      }
      #expect(isRefused, "\(name)")
      #expect(count.peak <= bytes.count + Self.constant, "\(name): \(bytes.count) bytes, \(count)")
      #expect(bytes.count <= TokenKind.largestSize || count.total <= Self.constant, "\(name): \(count)")
      inputs += 1
      dearest = max(dearest, count.peak - bytes.count)
    }
    #expect(inputs > 400)
    print("refused: \(inputs) inputs, at most \(dearest) bytes held beyond their own size")
  }

  @Test func `the counting counts`() {
    let count = Allocations.count { withExtendedLifetime([UInt8](repeating: 7, count: 100_000)) {} }
    #expect(count.peak >= 100_000 && count.total >= 100_000 && count.peak < 110_000)
  }

  private func vectors() throws -> [(String, [UInt8])] {
    try VectorTests.files().filter { !$0.hasPrefix("accept/") }.compactMap { name in
      let vector = try Vector.load(name)
      // One that is refused for its claims, or by another key, may have a good signature under this one.
      let isGood = (try? TokenDecoder.decode(vector.body, kinds: kinds).verified(by: key)) != nil
      return isGood ? nil : (name, vector.body)
    }
  }

  /// Long ones of every kind.
  private func hostile() -> [(String, [UInt8])] {
    let dots = honest.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    func joined(_ parts: [ArraySlice<UInt8>]) -> [UInt8] { Array(parts.joined(separator: [UInt8(ascii: ".")])) }
    func header(_ text: String) -> [UInt8] {
      joined([Array(Base64URL.encode(Array(text.utf8)).utf8)[...], dots[1], dots[2]])
    }
    let nested = String(repeating: "[", count: 500)
    var all: [(String, [UInt8])] = []
    for size in [1 << 10, 32 << 10, 64 << 10, 1 << 20, 16 << 20] {
      for letter in "A.\0".utf8 { all.append(("\(size) of \(letter)", [UInt8](repeating: letter, count: size))) }
      let long = [UInt8](repeating: UInt8(ascii: "e"), count: size)[...]
      all.append(("header of \(size)", joined([long, dots[1], dots[2]])))
      all.append(("payload of \(size)", joined([dots[0], long, dots[2]])))
      all.append(("signature of \(size)", joined([dots[0], dots[1], long])))
    }
    all += [
      ("nested header", header(nested)),
      ("members", header("{" + (0..<60).map { "\"\($0)\":1" }.joined(separator: ",") + "}")),
      ("numbers", header("[" + Array(repeating: "1", count: 240).joined(separator: ",") + "]")),
    ]
    for at in stride(from: 0, to: honest.count, by: 97) {
      var bytes = honest
      bytes[at] ^= 1
      all.append(("bit of byte \(at)", bytes))
    }
    return all
  }
}
