/// Numbers modulo the order of P-256's base point (SP 800-186 section 3.2.1.3), as far as a verification wants them. The
/// time that they take depends on them: for public ones only.
enum GroupOrder {
  /// 256 bits in words of 64, the lowest first.
  struct Number {
    var words: InlineArray<4, UInt64>

    /// Two to the 512th.
    fileprivate static let square = Number(
      words: [0x8324_4C95_BE79_EEA2, 0x4699_799C_49BD_6FA6, 0x2845_B239_2B6B_EC59, 0x66E1_2D94_F3D9_5620])
  }

  static let value = Number(
    words: [0xF3B9_CAC2_FC63_2551, 0xBCE6_FAAD_A717_9E84, 0xFFFF_FFFF_FFFF_FFFF, 0xFFFF_FFFF_0000_0000])

  /// A number that others are multiplied by, in Montgomery's form: times two to the 256th.
  struct Factor {
    private let number: Number
    /// Times the order it is -1, modulo two to the 64th.
    private static let negativeInverse: UInt64 = 0xCCD1_C8AA_EE00_BC4F

    init(_ number: Number) { self.number = Self.reduced(number, .square) }

    /// One of the two is below the order.
    static func * (factor: Factor, number: Number) -> Number { reduced(factor.number, number) }

    /// Their product divided by two to the 256th.
    private static func reduced(_ x: Number, _ y: Number) -> Number {
      var sum = InlineArray<6, UInt64>(repeating: 0)
      for index in 0..<4 {
        add(y, times: x.words[index], to: &sum)
        // So many times the order that the lowest word becomes zero.
        add(value, times: sum[0] &* negativeInverse, to: &sum)
        for place in 0..<5 { sum[place] = sum[place + 1] }
        sum[5] = 0
      }
      var result = Number(words: [sum[0], sum[1], sum[2], sum[3]])
      if sum[4] != 0 || !(result < value) { result.subtract(value) }
      return result
    }

    private static func add(_ number: Number, times factor: UInt64, to sum: inout InlineArray<6, UInt64>) {
      var carry: UInt128 = 0
      for index in 0..<4 {
        carry &+= UInt128(number.words[index]) &* UInt128(factor) &+ UInt128(sum[index])
        sum[index] = UInt64(truncatingIfNeeded: carry)
        carry &>>= 64
      }
      carry &+= UInt128(sum[4])
      sum[4] = UInt64(truncatingIfNeeded: carry)
      sum[5] &+= UInt64(truncatingIfNeeded: carry &>> 64)
    }
  }
}

extension GroupOrder.Number: Comparable {
  static func == (left: Self, right: Self) -> Bool {
    for index in 0..<4 where left.words[index] != right.words[index] { return false }
    return true
  }

  static func < (left: Self, right: Self) -> Bool {
    for index in (0..<4).reversed() where left.words[index] != right.words[index] {
      return left.words[index] < right.words[index]
    }
    return false
  }

  /// In place, modulo two to the 256th.
  mutating func subtract(_ other: Self) {
    var borrow = false
    for index in 0..<4 {
      let (rest, one) = words[index].subtractingReportingOverflow(other.words[index])
      let (difference, two) = rest.subtractingReportingOverflow(borrow ? 1 : 0)
      words[index] = difference
      borrow = one || two
    }
  }

  var isZero: Bool { words[0] | words[1] | words[2] | words[3] == 0 }

  /// 32 bytes, the highest first.
  init(bytes: ArraySlice<UInt8>) {
    words = .init { index in
      let end = bytes.endIndex - 8 * index
      return bytes[end - 8..<end].reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  /// Lends 32 bytes, the lowest first.
  func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
    let bytes = InlineArray<4, UInt64> { words[$0].littleEndian }
    withUnsafeBytes(of: bytes, body)
  }
}
