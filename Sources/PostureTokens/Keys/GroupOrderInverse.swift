extension GroupOrder {
  /// What times `number`, from 1 to the order less one, is 1.
  ///
  /// By division steps (Bernstein and Yang, "Fast constant-time gcd computation and modular inversion", 2019), 62 of them
  /// at once on the lowest bits alone, without their constant time.
  static func inverse(of number: Number) -> Number {
    // All the while d * number = f and e * number = g, modulo the order.
    var (f, g) = (Limbs.order, Limbs(number))
    var (d, e) = (Limbs(), Limbs(one: true))
    var delta = 1
    while !g.isZero {
      let steps = DivisionSteps(&delta, f.limbs[0], g.limbs[0])
      (f, g) = steps.divided(f, g)
      (d, e) = steps.dividedModulo(d, e)
    }
    // f is 1 or -1 now.
    return d.reduced(negated: f.limbs[4] < 0)
  }
}

/// A signed number of 310 bits in limbs of 62, the lowest first; all but the highest are positive.
private struct Limbs {
  static let mask: Int64 = 1 << 62 - 1
  static let order = Limbs(GroupOrder.value)
  /// Of the order, modulo two to the 62nd.
  static let inverseOfOrder: Int64 = 0x332E_3755_11FF_43B1

  var limbs: InlineArray<5, Int64>

  init() { limbs = .init(repeating: 0) }
  init(one: Bool) {
    limbs = .init(repeating: 0)
    limbs[0] = 1
  }

  init(_ number: GroupOrder.Number) {
    let words = number.words
    let wide: InlineArray<5, UInt64> = [
      words[0], words[0] >> 62 | words[1] << 2, words[1] >> 60 | words[2] << 4, words[2] >> 58 | words[3] << 6,
      words[3] >> 56,
    ]
    limbs = .init { Int64(truncatingIfNeeded: wide[$0]) & Self.mask }
  }

  var isZero: Bool { limbs[0] | limbs[1] | limbs[2] | limbs[3] | limbs[4] == 0 }

  /// Between two times the order below zero and once above it.
  func reduced(negated: Bool) -> GroupOrder.Number {
    var number = self
    if negated { for index in 0..<5 { number.limbs[index] = -number.limbs[index] } }
    number.add(Self.order, times: -1)
    while number.limbs[4] < 0 { number.add(Self.order, times: 1) }
    let bits = InlineArray<5, UInt64> { UInt64(truncatingIfNeeded: number.limbs[$0]) }
    return GroupOrder.Number(words: [
      bits[0] | bits[1] << 62, bits[1] >> 2 | bits[2] << 60, bits[2] >> 4 | bits[3] << 58, bits[3] >> 6 | bits[4] << 56,
    ])
  }

  private mutating func add(_ other: Limbs, times factor: Int64) {
    var carry: Int64 = 0
    for index in 0..<5 {
      carry += limbs[index] + factor * other.limbs[index]
      limbs[index] = index < 4 ? carry & Self.mask : carry
      carry >>= 62
    }
  }
}

/// What 62 division steps make of two numbers f and g: u f + v g and q f + r g, divided by two to the 62nd.
private struct DivisionSteps {
  private var (u, v, q, r): (Int64, Int64, Int64, Int64) = (1, 0, 0, 1)

  /// From the lowest bits of f, which is odd, and g. `delta`: how much longer f is thought to be.
  init(_ delta: inout Int, _ f: Int64, _ g: Int64) {
    var (f, g) = (f, g)
    var left = 62
    while true {
      let zeros = min(g.trailingZeroBitCount, left)
      g &>>= zeros
      u &<<= zeros
      v &<<= zeros
      delta &+= zeros
      left &-= zeros
      guard left > 0 else { return }
      if delta > 0 {
        delta = -delta
        (f, g) = (g, -f)
        (u, q) = (q, -u)
        (v, r) = (r, -v)
      }
      // g + w f has at least as many zeros as there are steps until the two may change places again.
      let w = Self.multiplier(f, g, bits: min(1 - delta, left))
      g &+= f &* w
      q &+= u &* w
      r &+= v &* w
    }
  }

  private static func multiplier(_ f: Int64, _ g: Int64, bits: Int) -> Int64 {
    // Of an odd number f the inverse modulo 8 is itself; one step of Newton's doubles the bits.
    let inverse = f &* (2 &- f &* f)
    return (0 &- g &* inverse) & (1 &<< min(bits, 6) &- 1)
  }

  func divided(_ f: Limbs, _ g: Limbs) -> (Limbs, Limbs) { (Self.sum(u, f, v, g), Self.sum(q, f, r, g)) }

  private static func sum(_ x: Int64, _ f: Limbs, _ y: Int64, _ g: Limbs) -> Limbs {
    var sum = Limbs()
    var carry = product(x, f.limbs[0]) &+ product(y, g.limbs[0])
    for index in 1..<5 {
      carry = carry &>> 62 &+ product(x, f.limbs[index]) &+ product(y, g.limbs[index])
      sum.limbs[index - 1] = Int64(truncatingIfNeeded: carry) & Limbs.mask
    }
    sum.limbs[4] = Int64(truncatingIfNeeded: carry &>> 62)
    return sum
  }

  /// The same modulo the order: so many times the order are added that the lowest 62 bits become zeros.
  func dividedModulo(_ d: Limbs, _ e: Limbs) -> (Limbs, Limbs) {
    (Self.sumModulo(u, d, v, e), Self.sumModulo(q, d, r, e))
  }

  private static func sumModulo(_ x: Int64, _ d: Limbs, _ y: Int64, _ e: Limbs) -> Limbs {
    var sum = Limbs()
    // As if what is negative had been made positive first: so it stays within twice the order.
    var times = (d.limbs[4] < 0 ? x : 0) &+ (e.limbs[4] < 0 ? y : 0)
    var carry = product(x, d.limbs[0]) &+ product(y, e.limbs[0])
    times &-= (Int64(truncatingIfNeeded: carry) &* Limbs.inverseOfOrder &+ times) & Limbs.mask
    carry &+= product(times, Limbs.order.limbs[0])
    for index in 1..<5 {
      carry = carry &>> 62 &+ product(x, d.limbs[index]) &+ product(y, e.limbs[index])
      carry &+= product(times, Limbs.order.limbs[index])
      sum.limbs[index - 1] = Int64(truncatingIfNeeded: carry) & Limbs.mask
    }
    sum.limbs[4] = Int64(truncatingIfNeeded: carry &>> 62)
    return sum
  }

  private static func product(_ x: Int64, _ y: Int64) -> Int128 { Int128(x) &* Int128(y) }
}
