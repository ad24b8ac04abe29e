/// Words under construction, appended to in place so that long ones cost their length.
struct WordCollector {
  private(set) var words: [String] = []
  private var bytes: [UInt8] = []
  /// Between two words nothing is open; an empty quotation opens an empty word.
  private(set) var isOpen = false

  mutating func open() { isOpen = true }

  mutating func append(_ byte: UInt8) {
    isOpen = true
    bytes.append(byte)
  }

  mutating func append(_ text: some Sequence<UInt8>) {
    isOpen = true
    bytes.append(contentsOf: text)
  }

  mutating func close() {
    if isOpen { words.append(String(decoding: bytes, as: UTF8.self)) }
    bytes.removeAll(keepingCapacity: true)
    isOpen = false
  }

  /// All words, the last one closed.
  mutating func finish() -> [String] {
    close()
    return words
  }
}
