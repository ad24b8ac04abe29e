import Posture
import PosturePlatform

/// What the initial RAM disk can do: by what is in it where it can be read, else by the settings of the program that
/// makes it.
final class InitialRAMDisk {
  enum Maker: Hashable, Sendable {
    case dracut, initramfsTools, mkinitcpio
    /// None of those was found.
    case unknown
  }

  enum Image: Hashable, Sendable {
    case none
    case contents(InitrdContents)
    case fault(InitrdFault)
  }

  private let system: System
  private let settings: InitrdSettings
  /// Found and unpacked only once somebody needs it: that takes a good part of a second where it is large.
  private lazy var found: (path: String?, image: Image, commandLine: String?) = find()

  init(_ system: System) {
    self.system = system
    settings = InitrdSettings(system)
  }

  /// The file that the image is in.
  var path: String? { found.path }
  var image: Image { found.image }
  private var contents: InitrdContents? { if case .contents(let contents) = image { contents } else { nil } }

  private func find() -> (String?, Image, String?) {
    guard let path = InitrdFinder(system: system).find() else { return (nil, .none, nil) }
    let unified = path.hasSuffix(".efi") ? UnifiedKernel(system, path) : nil
    do throws(InitrdFault) {
      return (path, .contents(try InitrdImage.read(system, path, section: unified?.initrd)), unified?.commandLine)
    } catch { return (path, .fault(error), unified?.commandLine) }
  }

  /// Why it is not known what it does. What is no archive starts nothing either: there the settings say more.
  var fault: Cause? {
    guard case .fault(let fault) = image, fault != .noArchive, let path else { return nil }
    return Cause("unreadable", observed: "the initial RAM disk \(path) \(fault.words)", evidence: [Place(path)])
  }

  /// By its own scripts, as somebody may have changed to another maker since.
  var maker: Maker {
    guard let names = contents?.names else { return settings.maker }
    if names.contains("conf/arch.conf") || names.contains("conf/initramfs.conf") { return .initramfsTools }
    if names.contains("init_functions") || names.contains("buildconfig") { return .mkinitcpio }
    let isDracut = names.contains("etc/initrd-release") || names.contains("usr/lib/initrd-release")
    return isDracut ? .dracut : settings.maker
  }

  /// Whether cryptsetup in there has systemd's plugin for `tpm2`, `fido2` or `pkcs11`. Debian's scripts hand over every
  /// key themselves, so that none is asked.
  func hasPlugin(_ device: String) -> Bool {
    if maker == .initramfsTools { return false }
    guard let names = contents?.names else { return settings.hasPlugin(device) }
    return names.contains { $0.hasSuffix("/libcryptsetup-token-systemd-\(device).so") }
  }

  var hasClevis: Bool {
    guard let names = contents?.names else { return settings.hasClevis }
    return names.contains { ["clevis", "clevis-decrypt", "clevis-luks-askpass"].contains(Path.name(of: $0)) }
  }

  /// Whether a file of the system is copied into it.
  func holds(_ path: String) -> Bool {
    guard let names = contents?.names else { return settings.holds(path) }
    return names.contains(String(path.drop { $0 == "/" }))
  }

  /// Rows of the crypttab in it.
  private(set) lazy var crypttab: [CrypttabEntry] = {
    guard let path, let texts = contents?.texts else { return [] }
    return ["cryptroot/crypttab", "etc/crypttab"].flatMap { name in
      Crypttab.parse(texts[name] ?? "", at: path).map {
        var entry = $0
        // A line of a file within this one.
        entry.place.line = nil
        return entry
      }
    }
  }()

  /// Words for the kernel's command line: what a unified kernel brings, and what dracut has put into the image.
  var commandLine: String {
    let files = (contents?.texts ?? [:]).filter { $0.key.hasPrefix("etc/cmdline.d/") }
    return ([found.commandLine ?? ""] + files.sorted { $0.key < $1.key }.map(\.value)).joined(separator: " ")
  }
}
