import Posture

/// What the kernel's command line says about unlocking (systemd-cryptsetup-generator(8)).
struct KernelCommandLine: Sendable {
  private var words: [String]
  let place: Place

  /// The running one, else what the boot loader's entries hold.
  init(_ system: System) {
    let boot = system.shared { BootWords(system) }
    words = Array(boot.words.prefix(Self.mostWords))
    place = boot.place.map { Place($0.file) } ?? Place("/etc/default/grub")
  }

  /// Kernels take some thousand bytes.
  private static let mostWords = 512

  private static func words(_ text: String) -> [String] {
    text.words(most: mostWords).prefix(mostWords).map { String($0) }
  }

  /// With those that the initial RAM disk brings.
  func adding(_ text: String) -> KernelCommandLine {
    var more = self
    more.words += Self.words(text)
    return more
  }

  /// A boolean that is set to false; the last word of either name counts.
  private func isOff(_ name: String, isEarly: Bool) -> Bool {
    let names = isEarly ? ["rd.\(name)", name] : [name]
    let last = words.last { word in names.contains { word.hasPrefix("\($0)=") } }
    return ["no", "0", "false", "off", "n", "f"].contains(last?.split(separator: "=").last?.lowercased())
  }

  /// `luks.crypttab=no`: systemd passes over the table.
  func ignoresCrypttab(isEarly: Bool) -> Bool {
    isOff("luks", isEarly: isEarly) || isOff("luks.crypttab", isEarly: isEarly)
  }

  /// `rd.` words are for the initial RAM disk alone. With `luks=no` none of them counts.
  private func values(_ name: String, isEarly: Bool = true) -> [String] {
    if isOff("luks", isEarly: isEarly) { return isEarly ? values(name, isEarly: false) : [] }
    return (isEarly ? ["rd.\(name)=", "\(name)="] : ["\(name)="]).flatMap { prefix in
      words.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.utf8.count)) }
    }
  }

  // MARK: Which volumes

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
    return named + bare.filter { one in !named.contains { $0.1 == one.1 } } + ofScripts
  }

  private func value(_ name: String) -> String? {
    words.last { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
  }

  /// Arch's hook `encrypt` (cryptdevice=DEVICE:NAME[:OPTIONS]), Alpine (cryptroot=, cryptdm=), Gentoo (crypt_root=).
  private var ofScripts: [(String, String)] {
    let hook = words.filter { $0.hasPrefix("cryptdevice=") }.compactMap { word -> (String, String)? in
      let parts = word.dropFirst("cryptdevice=".count).split(separator: ":")
      return parts.count >= 2 ? (String(parts[1]), String(parts[0])) : nil
    }
    let alpine = value("cryptroot").map { [(value("cryptdm") ?? "root", $0)] } ?? []
    return hook + alpine + (value("crypt_root").map { [("root", $0)] } ?? [])
  }

  // MARK: How each is unlocked

  /// Options for the volume with this number alone, which replace those of its row in crypttab; nil where there are none.
  func options(of uuid: String?, isEarly: Bool) -> [String]? {
    own("luks.options", uuid, isEarly).map(Self.list)
  }

  /// Options for every volume that has no row.
  func commonOptions(isEarly: Bool) -> [String] {
    values("luks.options", isEarly: isEarly).filter { Self.split($0) == nil }.flatMap(Self.list)
  }

  /// The key file of a volume without a row: for the one with this number, or for every one; `path` or `path:device`.
  func keyFile(of uuid: String?, isEarly: Bool) -> String? {
    if let own = own("luks.key", uuid, isEarly) { return own }
    if let common = values("luks.key", isEarly: isEarly).first(where: { Self.split($0) == nil }) { return common }
    // The hook of Arch: cryptkey=rootfs:PATH, DEVICE:TYPE:PATH, or DEVICE:OFFSET:SIZE for bytes of the device.
    let parts = value("cryptkey")?.split(separator: ":").map(String.init) ?? []
    if parts.count == 2, parts[0] == "rootfs" { return parts[1] }
    if parts.count == 3, Int(parts[1]) != nil { return BlockDevices.path(ofSource: parts[0]) }
    return parts.count == 3 ? "\(parts[2]):\(parts[0])" : nil
  }

  private static func list(_ value: String) -> [String] { value.split(separator: ",").map(String.init) }

  private func own(_ name: String, _ uuid: String?, _ isEarly: Bool) -> String? {
    let pairs = values(name, isEarly: isEarly).compactMap(Self.split)
    return uuid.flatMap { uuid in pairs.last { $0.uuid.lowercased() == uuid.lowercased() }?.value }
  }

  /// `UUID=value`; nil for a value without a number before it.
  private static func split(_ value: String) -> (uuid: String, value: String)? {
    let parts = value.split(separator: "=", maxSplits: 1)
    guard parts.count == 2, parts[0].count == 36, parts[0].filter({ $0 == "-" }).count == 4 else { return nil }
    return (String(parts[0]), String(parts[1]))
  }
}
