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
    case contents(InitrdDigest)
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
  private var contents: InitrdDigest? { if case .contents(let contents) = image { contents } else { nil } }

  private func find() -> (String?, Image, String?) {
    guard let path = InitrdFinder(system: system).find() else { return (nil, .none, nil) }
    let unified = path.ends(with: ".efi") ? UnifiedKernel(system, path) : nil
    switch read(path, unified?.initrd) {
    case .success(let contents): return (path, .contents(contents), unified?.commandLine)
    case .failure(let fault): return (path, .fault(fault), unified?.commandLine)
    }
  }

  private func read(_ path: String, _ section: Range<Int>?) -> InitrdMemory.Found {
    let read = { [system] in
      InitrdMemory.Found { () throws(InitrdFault) in
        InitrdDigest(try InitrdImage.read(system, path, section: section))
      }
    }
    // A tree is looked at once.
    return system.isLive ? InitrdMemory.shared.found(system, path, section: section, read) : read()
  }

  /// Why it is not known what it does. What is no archive starts nothing either: there the settings say more.
  var fault: Cause? {
    guard case .fault(let fault) = image, fault != .noArchive, let path else { return nil }
    return Cause("unreadable", observed: "the initial RAM disk \(path) \(fault.words)", evidence: [Place(path)])
  }

  /// By its own scripts, as somebody may have changed to another maker since.
  var maker: Maker { contents?.maker ?? settings.maker }

  /// Whether cryptsetup in there has systemd's plugin for `tpm2`, `fido2` or `pkcs11`. Debian's scripts hand over every
  /// key themselves, so that none is asked.
  func hasPlugin(_ device: String) -> Bool {
    maker == .initramfsTools ? false : contents?.hasPlugin(device) ?? settings.hasPlugin(device)
  }

  var hasClevis: Bool { contents?.hasClevis ?? settings.hasClevis }

  /// Whether a file of the system is copied into it.
  func holds(_ path: String) -> Bool { contents?.holds(path) ?? settings.holds(path) }

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
