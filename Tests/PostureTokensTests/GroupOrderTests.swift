@testable import PostureTokens
import TestKit
import Testing

/// Numbers modulo the order of the base point, against sums that are taken one bit at a time.
@Suite struct GroupOrderTests {
  typealias Number = GroupOrder.Number

  private let seed = UInt64.random(in: 0...(.max))

  private static func bytes(_ numbers: inout SplitMix) -> [UInt8] {
    (0..<32).map { _ in UInt8.random(in: 0...255, using: &numbers) }
  }

  /// Random ones, those of one bit, those of all bits from one on, and the ends of the range.
  private func samples() -> [Number] {
    var numbers = SplitMix(seed)
    let random = (0..<200).map { _ in Number(bytes: Self.bytes(&numbers)[...]) }
    let powers = (0..<256).map { Number(bit: $0) }
    let tails = powers.dropFirst().map { power in
      var tail = power
      tail.subtract(Number(bit: 0))
      return tail
    }
    var last = GroupOrder.value
    last.subtract(Number(bit: 0))
    return (random + powers + tails + [last]).map(Self.reduced)
  }

  @Test func `times its inverse every number is one`() {
    for number in samples() where !number.isZero {
      #expect(Self.product(number, GroupOrder.inverse(of: number)) == Number(bit: 0), "seed \(seed)")
    }
  }

  @Test func `products`() {
    let numbers = samples()
    for (one, other) in zip(numbers, numbers.shuffled()) {
      #expect(GroupOrder.Factor(one) * other == Self.product(one, other), "seed \(seed)")
    }
  }

  /// A digest may be as large as 32 bytes allow.
  @Test func `products of numbers above the order`() {
    let all = Number(bytes: [UInt8](repeating: 0xFF, count: 32)[...])
    for number in samples() {
      #expect(GroupOrder.Factor(number) * all == Self.product(number, Self.reduced(all)), "seed \(seed)")
      #expect(GroupOrder.Factor(number) * GroupOrder.value == Number(bytes: [UInt8](repeating: 0, count: 32)[...]))
    }
  }

  @Test func `bytes are read from the highest and lent from the lowest`() {
    var numbers = SplitMix(seed)
    for _ in 0..<100 {
      let bytes = Self.bytes(&numbers)
      let number = Number(bytes: bytes[...])
      number.withBytes { #expect($0.reversed() == bytes, "seed \(seed)") }
    }
  }

  @Test func `order of numbers`() {
    for (one, other) in zip(samples(), samples().shuffled()) {
      #expect((one < other) == one.bits.lexicographicallyPrecedes(other.bits), "seed \(seed)")
    }
  }

  private static func reduced(_ number: Number) -> Number {
    var rest = number
    if !(number < GroupOrder.value) { rest.subtract(GroupOrder.value) }
    return rest
  }

  private static func product(_ one: Number, _ other: Number) -> Number {
    var product = Number(bytes: [UInt8](repeating: 0, count: 32)[...])
    for bit in other.bits {
      product = sum(product, product)
      if bit == 1 { product = sum(product, one) }
    }
    return product
  }

  /// Of two below the order: what is taken from the one is what the other lacks to the order.
  private static func sum(_ one: Number, _ other: Number) -> Number {
    var lack = GroupOrder.value
    lack.subtract(other)
    var sum = one
    let isLess = one < lack
    sum.subtract(lack)
    if isLess {
      // It went below zero by what is now added.
      var negative = Number(bytes: [UInt8](repeating: 0, count: 32)[...])
      negative.subtract(GroupOrder.value)
      sum.subtract(negative)
    }
    return sum
  }
}

extension GroupOrder.Number {
  fileprivate init(bit: Int) {
    self.init(bytes: (0..<32).map { 31 - $0 == bit / 8 ? UInt8(1) << (bit % 8) : 0 }[...])
  }

  /// 256, the highest first.
  fileprivate var bits: [UInt8] {
    (0..<256).reversed().map { UInt8(truncatingIfNeeded: words[$0 / 64] >> UInt64($0 % 64)) & 1 }
  }
}
