import Posture

/// What the kernel's command line says about unlocking (systemd-cryptsetup-generator(8)).
struct KernelCommandLine: Sendable {
  private let words: [String]
  let place: Place

  /// The running one, else what the boot loader's entries hold.
  init(_ system: System) {
    let running = "/proc/cmdline"
    if let text = system.text(running) {
      words = Self.words(text)
      place = Place(running)
      return
    }
    let kernel = "/etc/kernel/cmdline"
    if let text = system.text(kernel) {
      words = Self.words(text)
      place = Place(kernel)
      return
    }
    let folder = "/boot/loader/entries"
    let entries = ((try? system.list(folder)) ?? []).filter { $0.hasSuffix(".conf") }
    for entry in entries.prefix(16) {
      let lines = (system.text("\(folder)/\(entry)") ?? "").split(separator: "\n")
      guard let line = lines.first(where: { $0.hasPrefix("options ") }) else { continue }
      words = Self.words(String(line.dropFirst("options ".count)))
      place = Place("\(folder)/\(entry)")
      return
    }
    let grub = "/etc/default/grub"
    words = (system.text(grub) ?? "").split(separator: "\n").filter { $0.hasPrefix("GRUB_CMDLINE_LINUX") }
      .flatMap { line in Self.words(String(line.drop { $0 != "=" }.dropFirst().filter { $0 != "\"" && $0 != "'" })) }
    place = Place(grub)
  }

  private static func words(_ text: some StringProtocol) -> [String] {
    text.split(whereSeparator: \.isWhitespace).map { String($0) }
  }

  private func values(_ name: String) -> [String] {
    ["rd.\(name)=", "\(name)="].flatMap { prefix in
      words.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.utf8.count)) }
    }
  }

  /// Mappings that the command line makes: name and device.
  var mappings: [(name: String, source: String)] {
    let named = values("luks.name").compactMap { value -> (String, String)? in
      let parts = value.split(separator: "=", maxSplits: 1)
      return parts.count == 2 ? (String(parts[1]), "UUID=\(parts[0])") : nil
    }
    let bare = values("luks.uuid").map { value -> (String, String) in
      let uuid = value.hasPrefix("luks-") ? String(value.dropFirst(5)) : value
      return ("luks-\(uuid)", "UUID=\(uuid)")
    }
    // The hook of Arch: cryptdevice=DEVICE:NAME[:OPTIONS].
    let hook = words.filter { $0.hasPrefix("cryptdevice=") }.compactMap { word -> (String, String)? in
      let parts = word.dropFirst("cryptdevice=".count).split(separator: ":")
      return parts.count >= 2 ? (String(parts[1]), String(parts[0])) : nil
    }
    return named + bare.filter { one in !named.contains { $0.1 == one.1 } } + hook
  }

  /// Options for the volume on `source` (`UUID=…`), and those for every volume.
  func options(of source: String) -> [String] {
    applicable("luks.options", source).flatMap { $0.split(separator: ",").map(String.init) }
  }

  /// The key file for the volume on `source`, or for every volume: `path` or `path:device`.
  func keyFile(of source: String) -> String? {
    if let value = applicable("luks.key", source).first { return value }
    // The hook of Arch: cryptkey=rootfs:PATH or cryptkey=DEVICE:TYPE:PATH.
    guard let word = words.last(where: { $0.hasPrefix("cryptkey=") }) else { return nil }
    let parts = word.dropFirst("cryptkey=".count).split(separator: ":").map(String.init)
    if parts.count == 2, parts[0] == "rootfs" { return parts[1] }
    return parts.count == 3 ? "\(parts[2]):\(parts[0])" : nil
  }

  private func applicable(_ name: String, _ source: String) -> [String] {
    values(name).compactMap { value in
      let parts = value.split(separator: "=", maxSplits: 1)
      let isOfOne = parts.count == 2 && parts[0].count == 36 && parts[0].filter { $0 == "-" }.count == 4
      guard isOfOne else { return value }
      return source == "UUID=\(parts[0])" ? String(parts[1]) : nil
    }
  }
}
