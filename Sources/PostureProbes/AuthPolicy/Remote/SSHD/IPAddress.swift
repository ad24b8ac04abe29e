import Glibc

/// An address of IPv4 or IPv6 as bytes.
struct IPAddress: Hashable, Sendable {
  let bytes: [UInt8]

  init?(_ text: String) {
    var four = in_addr()
    var six = in6_addr()
    if inet_pton(AF_INET, text, &four) == 1 {
      bytes = withUnsafeBytes(of: four) { Array($0) }
    } else if inet_pton(AF_INET6, text, &six) == 1 {
      bytes = withUnsafeBytes(of: six) { Array($0) }
    } else {
      return nil
    }
  }

  fileprivate init(bytes: [UInt8]) { self.bytes = bytes }

  func isWithin(_ network: IPNetwork) -> Bool {
    guard bytes.count == network.base.bytes.count else { return false }
    return (0..<network.length).allSatisfy { bit(at: $0) == network.base.bit(at: $0) }
  }

  private func bit(at index: Int) -> Bool { bytes[index / 8] & (0x80 >> UInt8(index % 8)) != 0 }

  /// The one after this, for a network's first host.
  var next: IPAddress {
    var bytes = bytes
    bytes[bytes.count - 1] |= 1
    return IPAddress(bytes: bytes)
  }

  var text: String {
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    _ = bytes.withUnsafeBytes {
      inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, $0.baseAddress, &buffer, socklen_t(INET6_ADDRSTRLEN))
    }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

/// `10.0.0.0/8`; a single address is a network of one.
struct IPNetwork: Hashable, Sendable {
  let base: IPAddress
  let length: Int

  init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let first = parts.first, let base = IPAddress(String(first)), parts.count <= 2 else { return nil }
    let whole = base.bytes.count * 8
    guard let length = parts.count == 2 ? Int(parts[1]) : whole, (0...whole).contains(length) else { return nil }
    self.base = base
    self.length = length
  }

  /// `10.0.*`, which as a pattern of text holds what `10.0.0.0/16` does.
  init?(wildcard text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard (2...4).contains(parts.count), parts.last == "*" else { return nil }
    let zeros = repeatElement("0", count: 5 - parts.count)
    self.init((parts.dropLast().map(String.init) + zeros).joined(separator: ".") + "/\((parts.count - 1) * 8)")
  }

  /// An address within.
  var example: IPAddress { length == base.bytes.count * 8 ? base : base.next }

  /// The first address behind it; nil behind the last one of all.
  var following: IPAddress? {
    var bytes = base.bytes
    for bit in length..<bytes.count * 8 { bytes[bit / 8] |= 0x80 >> UInt8(bit % 8) }
    for index in bytes.indices.reversed() {
      bytes[index] &+= 1
      if bytes[index] != 0 { return IPAddress(bytes: bytes) }
    }
    return nil
  }
}
