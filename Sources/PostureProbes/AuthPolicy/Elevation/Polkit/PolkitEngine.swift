/// What runs the rules: Mozilla's JavaScript, or Duktape, which knows ECMAScript 5 and little beyond.
struct PolkitEngine: Sendable {
  /// False where the engine cannot be told: rules count as Mozilla's would run them.
  let isDuktape: Bool

  /// The engine of the examined system, looked for once in an examination.
  static func of(_ system: System) -> PolkitEngine { system.shared { PolkitEngine(system) } }

  private init(_ system: System) {
    let programs = PolkitDoors.programs.compactMap { try? system.read($0, cap: 16 << 20).bytes }
    if let linked = programs.lazy.compactMap(Self.isLinkedWithDuktape).first {
      isDuktape = linked
    } else {
      let libraries = Self.libraries(system)
      isDuktape =
        libraries.contains { $0.hasPrefix("libduktape.so") } && !libraries.contains { $0.hasPrefix("libmozjs-") }
    }
  }

  /// What the daemon itself shows; nil where it shows neither.
  private static func isLinkedWithDuktape(_ bytes: [UInt8]) -> Bool? {
    if ByteSearch.contains(bytes, "libduktape.so") { return true }
    return ByteSearch.contains(bytes, "libmozjs-") ? false : nil
  }

  private static func libraries(_ system: System) -> [String] {
    ["/usr/lib", "/usr/lib64", "/lib", "/lib64"].flatMap { folder in
      let names = (try? system.list(folder)) ?? []
      let multiarch = names.filter { $0.range(ofText: "-linux-") != nil }
      return names + multiarch.flatMap { (try? system.list("\(folder)/\($0)")) ?? [] }
    }
  }
}
