/// Numbers modulo the order of P-256's base point (SP 800-186 section 3.2.1.3), as far as a verification wants them.
enum GroupOrder {
  /// 256 bits, the lowest first.
  struct Number: Equatable {
    var a: UInt64
    var b: UInt64
    var c: UInt64
    var d: UInt64

    static let one = Number(a: 1, b: 0, c: 0, d: 0)
    static let zero = Number(a: 0, b: 0, c: 0, d: 0)

    var isEven: Bool { a & 1 == 0 }

    /// Adds in place; the carry.
    mutating func add(_ other: Number) -> Bool {
      var carry = false
      a = Self.sum(a, other.a, &carry)
      b = Self.sum(b, other.b, &carry)
      c = Self.sum(c, other.c, &carry)
      d = Self.sum(d, other.d, &carry)
      return carry
    }

    /// Subtracts in place; the borrow.
    mutating func subtract(_ other: Number) -> Bool {
      var borrow = false
      a = Self.difference(a, other.a, &borrow)
      b = Self.difference(b, other.b, &borrow)
      c = Self.difference(c, other.c, &borrow)
      d = Self.difference(d, other.d, &borrow)
      return borrow
    }

    /// Divides by two to the `count` (1 to 63) in place, downwards. `top`: what comes in above.
    mutating func halve(_ count: Int, top: UInt64 = 0) {
      a = a &>> count | b &<< (64 - count)
      b = b &>> count | c &<< (64 - count)
      c = c &>> count | d &<< (64 - count)
      d = d &>> count | top &<< (64 - count)
    }

    /// Adds so many times the order in place, `multiple` below two to the 63rd; what does not fit.
    fileprivate mutating func add(order multiple: UInt64) -> UInt64 {
      var carry: UInt64 = 0
      a = Self.sum(a, multiple, times: GroupOrder.value.a, &carry)
      b = Self.sum(b, multiple, times: GroupOrder.value.b, &carry)
      c = Self.sum(c, multiple, times: GroupOrder.value.c, &carry)
      d = Self.sum(d, multiple, times: GroupOrder.value.d, &carry)
      return carry
    }

    private static func sum(_ x: UInt64, _ y: UInt64, times z: UInt64, _ carry: inout UInt64) -> UInt64 {
      let product = y.multipliedFullWidth(by: z)
      let (sum, one) = product.low.addingReportingOverflow(x)
      let (total, two) = sum.addingReportingOverflow(carry)
      carry = product.high &+ (one ? 1 : 0) &+ (two ? 1 : 0)
      return total
    }

    private static func sum(_ x: UInt64, _ y: UInt64, _ carry: inout Bool) -> UInt64 {
      let (sum, one) = x.addingReportingOverflow(y)
      let (total, two) = sum.addingReportingOverflow(carry ? 1 : 0)
      carry = one || two
      return total
    }

    private static func difference(_ x: UInt64, _ y: UInt64, _ borrow: inout Bool) -> UInt64 {
      let (difference, one) = x.subtractingReportingOverflow(y)
      let (total, two) = difference.subtractingReportingOverflow(borrow ? 1 : 0)
      borrow = one || two
      return total
    }
  }

  static let value = Number(
    a: 0xF3B9_CAC2_FC63_2551, b: 0xBCE6_FAAD_A717_9E84, c: 0xFFFF_FFFF_FFFF_FFFF, d: 0xFFFF_FFFF_0000_0000)

  /// Times the order it is -1, modulo two to the 64th (as in Montgomery's reduction).
  private static let negativeInverse: UInt64 = 0xCCD1_C8AA_EE00_BC4F

  /// By halving and subtracting (the binary form of Euclid's algorithm), for `number` from 1 to the order less one. The
  /// time depends on the number: for public ones only.
  static func inverse(of number: Number) -> Number {
    // All the while number * x = u and number * y = v.
    var (u, x) = (number, Number.one)
    var (v, y) = (value, Number.zero)
    while u != .one && v != .one {
      makeOdd(&u, &x)
      makeOdd(&v, &y)
      var rest = u
      if rest.subtract(v) {
        _ = v.subtract(u)
        reduce(&y, by: x)
      } else {
        u = rest
        reduce(&x, by: y)
      }
    }
    return u == .one ? x : y
  }

  private static func makeOdd(_ u: inout Number, _ x: inout Number) {
    while u.isEven {
      let count = min(u.a.trailingZeroBitCount, 63)
      u.halve(count)
      // So many times the order are added that the lowest bits become zeros.
      let top = x.add(order: x.a &* negativeInverse & (1 &<< count - 1))
      x.halve(count, top: top)
    }
  }

  private static func reduce(_ x: inout Number, by y: Number) {
    if x.subtract(y) { _ = x.add(value) }
  }
}

extension GroupOrder.Number {
  /// 32 bytes, the highest first.
  init(bytes: ArraySlice<UInt8>) {
    let words = stride(from: bytes.startIndex, to: bytes.endIndex, by: 8).map { start in
      bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    self.init(a: words[3], b: words[2], c: words[1], d: words[0])
  }

  var bytes: [UInt8] {
    [d, c, b, a].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) } }
  }
}
