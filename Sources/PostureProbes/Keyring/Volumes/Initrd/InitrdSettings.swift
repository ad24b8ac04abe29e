import Posture

/// What the settings of the program that makes initial RAM disks say: its modules, hooks and lists of files.
struct InitrdSettings: Sendable {
  let maker: InitialRAMDisk.Maker
  private let system: System

  private static let dracut = "/usr/lib/dracut/modules.d"

  init(_ system: System) {
    self.system = system
    maker = Self.maker(system)
  }

  private var modules: [String] { (try? system.list(Self.dracut)) ?? [] }
  private var mkinitcpio: [String] { texts("/etc/mkinitcpio.conf", "/etc/mkinitcpio.conf.d") }
  private var hooks: [String] { mkinitcpio.flatMap { Self.words($0, after: "HOOKS") } }

  private static func maker(_ system: System) -> InitialRAMDisk.Maker {
    if system.exists(dracut) { return .dracut }
    if system.exists("/etc/mkinitcpio.conf") { return .mkinitcpio }
    let marks = ["/usr/share/initramfs-tools", "/etc/initramfs-tools", "/usr/sbin/mkinitramfs"]
    return marks.contains(where: system.exists) ? .initramfsTools : .unknown
  }

  func hasPlugin(_ device: String) -> Bool {
    guard UnlockingTools(system).hasPlugin(device) else { return false }
    switch maker {
    case .initramfsTools: return false
    case .mkinitcpio: return hooks.contains("sd-encrypt")
    case .dracut: return modules.contains { $0.ends(with: device) || $0.ends(with: "\(device)-tss") }
    // Where its maker is not known, the plugin may be in it.
    case .unknown: return true
    }
  }

  var hasClevis: Bool {
    switch maker {
    case .initramfsTools: system.exists("/usr/share/initramfs-tools/hooks/clevis")
    case .mkinitcpio: hooks.contains("clevis")
    case .dracut: modules.contains { $0.drop { $0.isNumber } == "clevis" }
    case .unknown: system.exists("/usr/bin/clevis-luks-unlock")
    }
  }

  func holds(_ path: String) -> Bool {
    let dracut = texts("/etc/dracut.conf", "/etc/dracut.conf.d", "/usr/lib/dracut/dracut.conf.d")
    let lists = ["install_items", "install_optional_items"]
    let files =
      mkinitcpio.flatMap { Self.words($0, after: "FILES") }
      + dracut.flatMap { text in lists.flatMap { Self.words(text, after: $0) } }
    let patterns = texts("/etc/cryptsetup-initramfs/conf-hook").flatMap { Self.words($0, after: "KEYFILE_PATTERN") }
    return files.contains(path) || patterns.contains { Glob.matches(path, $0) } || isAlpineKey(path)
  }

  /// The one key file that Alpine's mkinitfs copies, with its feature `cryptkey`.
  private func isAlpineKey(_ path: String) -> Bool {
    path == "/crypto_keyfile.bin"
      && texts("/etc/mkinitfs/mkinitfs.conf").flatMap { Self.words($0, after: "features") }.contains("cryptkey")
  }

  // MARK: Shell variables

  private func texts(_ paths: String...) -> [String] {
    paths.flatMap { path -> [String] in
      guard path.ends(with: ".d") else { return system.text(path).map { [$0] } ?? [] }
      let names = ((try? system.list(path)) ?? []).filter { $0.ends(with: ".conf") }
      return names.prefix(64).compactMap { system.text("\(path)/\($0)") }
    }
  }

  /// The words of `NAME=(a b)`, `NAME+=" a b "`, which may go over several lines.
  private static func words(_ text: String, after name: String) -> [String] {
    /// What ends the value that is being read.
    var end: Character?
    return text.lines().flatMap { line -> [String] in
      var rest = line.prefix { $0 != "#" }
      if end == nil {
        guard let value = value(rest, of: name) else { return [] }
        end = value.first.flatMap { closing[$0] }
        rest = end == nil ? value : value.dropFirst()
      }
      if let mark = end.flatMap(rest.firstIndex) {
        rest = rest[..<mark]
        end = nil
      }
      return rest.split { " \t()\"'\r\\".contains($0) }.map(String.init)
    }
  }

  private static let closing: [Character: Character] = ["(": ")", "\"": "\"", "'": "'"]

  /// What stands behind `NAME=` or `NAME+=`.
  private static func value(_ line: Substring, of name: String) -> Substring? {
    let line = line.drop { $0 == " " || $0 == "\t" }
    guard line.hasPrefix(name), let equals = line.firstIndex(of: "="),
      ["", "+"].contains(line[line.index(line.startIndex, offsetBy: name.count)..<equals])
    else { return nil }
    return line[line.index(after: equals)...]
  }
}
