import PosturePlatform

/// What is kept of an image's contents: a name takes eight bytes, as thousands are never asked for.
struct InitrdDigest: Hashable, Sendable {
  /// By its own scripts; nil where they do not tell.
  let maker: InitialRAMDisk.Maker?
  let hasClevis: Bool
  /// Its crypttab, and files with words for the kernel's command line.
  let texts: [String: String]
  /// `tpm2`, `fido2`, `pkcs11`.
  private let plugins: Set<String>
  private let names: Set<Int>

  private static let devices = ["tpm2", "fido2", "pkcs11"]
  private static let clevis: Set = ["clevis", "clevis-decrypt", "clevis-luks-askpass"]

  init(_ contents: InitrdContents) {
    let all = contents.names
    maker = Self.maker(all)
    hasClevis = all.contains { Self.clevis.contains(Path.name(of: $0)) }
    texts = contents.texts
    plugins = Set(
      Self.devices.filter { device in all.contains { $0.ends(with: "/libcryptsetup-token-systemd-\(device).so") } })
    names = Set(all.map(\.hashValue))
  }

  private static func maker(_ names: Set<String>) -> InitialRAMDisk.Maker? {
    if names.contains("conf/arch.conf") || names.contains("conf/initramfs.conf") { return .initramfsTools }
    if names.contains("init_functions") || names.contains("buildconfig") { return .mkinitcpio }
    let isDracut = names.contains("etc/initrd-release") || names.contains("usr/lib/initrd-release")
    return isDracut ? .dracut : nil
  }

  /// Whether cryptsetup in there has systemd's plugin for a kind of device.
  func hasPlugin(_ device: String) -> Bool { plugins.contains(device) }

  func holds(_ path: String) -> Bool { names.contains(String(path.drop { $0 == "/" }).hashValue) }
}
