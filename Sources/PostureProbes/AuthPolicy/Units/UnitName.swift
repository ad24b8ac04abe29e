/// The name of a systemd unit, taken apart (systemd.unit(5)): `serial-getty@ttyS0.service`.
struct UnitName: Hashable, Sendable {
  /// The whole name.
  let text: String
  /// What stands before "@", or before the type: `serial-getty`.
  let prefix: String
  /// `ttyS0`; empty for a template; nil for a unit that is neither template nor instance.
  let instance: String?
  /// `service`, `target`, `socket` …
  let type: String

  init?(_ text: String) {
    let bytes = text.utf8
    guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot != bytes.startIndex,
      !bytes.contains(UInt8(ascii: "/")), bytes.count < 256
    else { return nil }
    self.text = text
    type = String(text[bytes.index(after: dot)...])
    let stem = text[..<dot]
    if let at = stem.utf8.firstIndex(of: UInt8(ascii: "@")) {
      prefix = String(stem[..<at])
      instance = String(stem[bytes.index(after: at)...])
    } else {
      prefix = String(stem)
      instance = nil
    }
    if prefix.isEmpty || type.isEmpty { return nil }
  }

  var isTemplate: Bool { instance == "" }

  /// The template of an instance, `getty@.service`; nil for anything else.
  var template: String? { instance?.isEmpty == false ? "\(prefix)@.\(type)" : nil }

  /// The same unit of another template: `autovt@tty2.service` as an instance of `getty@.service`.
  func instance(of template: UnitName) -> String {
    guard let instance, template.isTemplate else { return template.text }
    return "\(template.prefix)@\(instance).\(template.type)"
  }

  /// The prefix cut at each dash, longest first, whose drop-ins apply too: `foo-bar-.service`, `foo-.service`; for an
  /// instance `foo-@bar.service` and `foo-@.service` as well. A template stands for all its instances.
  var shortened: [String] {
    prefix.indices.filter { prefix[$0] == "-" && $0 != prefix.startIndex }.reversed()
      .flatMap { dash in
        let start = prefix[...dash]
        let ends = instance.map { $0.isEmpty ? ["@", ""] : ["@\($0)", "@", ""] } ?? [""]
        return ends.map { "\(start)\($0).\(type)" }
      }
      .filter { $0 != text }
  }

  /// Undoes systemd-escape(1): "-" is "/", "\x2d" is "-".
  static func unescape(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "-") {
        bytes.append(UInt8(ascii: "/"))
      } else if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x"), rest.count >= 3,
        let value = UInt8(String(decoding: rest.dropFirst().prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
