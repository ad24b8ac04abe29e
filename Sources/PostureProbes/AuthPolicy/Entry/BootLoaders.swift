import Posture

/// systemd-boot (loader.conf(5)).
struct SystemdBoot {
  let system: System

  private static let partitions = ["/efi", "/boot", "/boot/efi"]

  var door: Door? {
    for partition in Self.partitions {
      let path = "\(partition)/loader/loader.conf"
      guard system.exists(path) || hasProgram(partition) else { continue }
      return door(path, partition)
    }
    return nil
  }

  private func hasProgram(_ partition: String) -> Bool {
    ((try? system.list("\(partition)/EFI/systemd")) ?? []).contains { $0.hasPrefix("systemd-boot") }
  }

  private func door(_ path: String, _ partition: String) -> Door {
    let text: String
    do throws(System.Unreadable) { text = try system.read(path).text } catch {
      guard error == .missing else { return BootDoors.unknown("systemd-boot", Place(path), "\(path) \(error.words)") }
      text = ""
    }
    // Spelled otherwise it is passed over: the loader takes small letters only.
    let editor = Self.settings("editor", text).last { Self.yes.contains($0.value) || Self.no.contains($0.value) }
    let place = Place(path, line: editor?.line)
    if let editor, Self.no.contains(editor.value) {
      return BootDoors.shut("systemd-boot", Reason("systemdBoot.noEditor", place))
    }
    if hasOnlyImages(partition) {
      // With Secure Boot a unified image takes no command line from the menu.
      return BootDoors.unknown("systemd-boot", place, "unified kernel images, editor on")
    }
    return BootDoors.open("systemd-boot", Reason("systemdBoot.editor", place), "editor \(editor?.value ?? "not set")")
  }

  private static let yes = ["1", "yes", "y", "true", "t", "on"]
  private static let no = ["0", "no", "n", "false", "f", "off"]

  /// The values of a key of loader.conf(5), with their lines.
  static func settings(_ key: String, _ text: String) -> [(value: String, line: Int)] {
    LogicalLines(text, comments: ["#"]).compactMap { line in
      let words = line.text.split { $0 == " " || $0 == "\t" }
      return words.count > 1 && words[0] == key ? (String(words[1]), line.number) : nil
    }
  }

  private func hasOnlyImages(_ partition: String) -> Bool {
    let images = ((try? system.list("\(partition)/EFI/Linux")) ?? []).contains { $0.ends(with: ".efi") }
    return images && !((try? system.list("\(partition)/loader/entries")) ?? []).contains { $0.ends(with: ".conf") }
  }
}

/// Syslinux, extlinux, and U-Boot, which reads files of the same kind.
struct Extlinux {
  let system: System

  private static let files = [
    "/boot/extlinux/extlinux.conf", "/boot/extlinux.conf", "/extlinux.conf", "/boot/syslinux/syslinux.cfg",
    "/boot/syslinux.cfg", "/boot/syslinux/extlinux.conf",
  ]

  var door: Door? {
    guard let path = Self.files.first(where: system.exists) else { return nil }
    let text: String
    do throws(System.Unreadable) { text = try system.read(path).text } catch {
      return BootDoors.unknown("extlinux", Place(path), "\(path) \(error.words)")
    }
    let options = Options(text, path)
    // Only U-Boot knows device trees; who may stop it is written in its environment.
    if options.namesDeviceTree { return BootDoors.unknown("u-boot", Place(path), "\(path), read by U-Boot") }
    return options.door
  }

  struct Options {
    private var values: [String: (value: String, line: Int)] = [:]
    private var password: Int?
    /// A menu's module is named, here or maybe in another file: only it asks for a password, the prompt knows none.
    private var mayHaveMenu = false
    private(set) var namesDeviceTree = false
    private let path: String

    init(_ text: String, _ path: String) {
      self.path = path
      for line in LogicalLines(text, comments: ["#"]) {
        let words = line.text.split { $0 == " " || $0 == "\t" }.map { $0.lowercased() }
        if ["fdt", "fdtdir", "devicetree", "devicetreedir"].contains(words[0]) { namesDeviceTree = true }
        if words[0] == "include" || words.contains(where: { $0.ends(with: "menu.c32") }) { mayHaveMenu = true }
        if words.starts(with: ["menu", "master", "passwd"]) { password = line.number }
        if words.count > 1 { values[words[0]] = (words[1], line.number) }
      }
    }

    var door: Door {
      if let allow = values["allowoptions"], allow.value == "0" {
        return BootDoors.shut("extlinux", Reason("extlinux.allowOptions", file: path, line: allow.line))
      }
      if let password, mayHaveMenu {
        var door = Door(
          "boot@extlinux", .boot, "*", .passcode, because: [Reason("extlinux.password", file: path, line: password)])
        door.whose = .own
        door.oncePerBoot = true
        return door
      }
      let hasMenu = values["ui"] != nil || values["default"]?.value.contains("menu.c32") == true
      if let escape = values["noescape"], escape.value == "1", (values["prompt"]?.value ?? "0") == "0", !hasMenu {
        return BootDoors.shut("extlinux", Reason("extlinux.noEscape", file: path, line: escape.line))
      }
      return BootDoors.open("extlinux", Reason("extlinux.prompt", file: path), "\(path): options can be added")
    }
  }
}

/// The Raspberry Pi's own boot loader: the command line is a file on a partition that anybody can mount.
struct PiBoot {
  let system: System

  var door: Door? {
    guard let folder else { return nil }
    // A signed image is checked by the firmware, if its key is fused: that is not written here.
    if system.exists("\(folder)/boot.sig") {
      return BootDoors.unknown("pi", Place("\(folder)/boot.sig"), "signed boot")
    }
    // Only the firmware's own partition is known by its settings alone.
    guard let file = commandLine ?? (folder == Self.partition ? "\(folder)/config.txt" : nil) else { return nil }
    return BootDoors.open(
      "pi", Reason("pi.commandLine", file: file), "\(file) lies on a partition that anybody can write")
  }

  private static let partition = "/boot/firmware"

  private var folder: String? { [Self.partition, "/boot"].first { system.exists("\($0)/config.txt") } }

  /// The file with the kernel's command line: `cmdline` of config.txt, behind `os_prefix` where that leads to one.
  var commandLine: String? {
    guard let folder else { return nil }
    let settings = VariableFile.settings(in: "\(folder)/config.txt", system)
    let value = { (key: String) in settings.last { $0.name.trimmed == key }?.words.first }
    let name = value("cmdline") ?? "cmdline.txt"
    return ["\(folder)/\(value("os_prefix") ?? "")\(name)", "\(folder)/\(name)"].first(where: system.exists)
  }
}

/// Loaders that are found and whose rules are not known.
struct OtherLoaders {
  let system: System

  private static let signs = [
    (
      "u-boot",
      ["/etc/fw_env.config", "/boot/boot.scr", "/boot/uEnv.txt", "/boot/armbianEnv.txt", "/boot/boot.cmd", "/uEnv.txt"]
    ),
    ("refind", ["/boot/efi/EFI/refind/refind.conf", "/efi/EFI/refind/refind.conf", "/boot/EFI/refind/refind.conf"]),
    ("limine", ["/boot/limine.conf", "/boot/limine.cfg", "/boot/limine/limine.conf"]),
    ("lilo", ["/etc/lilo.conf"]), ("zipl", ["/etc/zipl.conf"]), ("petitboot", ["/etc/petitboot"]),
  ]

  var doors: [Door] {
    Self.signs.compactMap { name, files in
      files.first(where: system.exists).map { BootDoors.unknown(name, Place($0), "\($0)") }
    }
  }

  /// A kernel that something has to load, where no loader was found.
  var kernel: Place? {
    let names = ((try? system.list("/boot")) ?? []).filter { name in
      ["vmlinuz", "vmlinux", "zImage", "uImage", "bzImage", "Image"].contains { name.hasPrefix($0) }
    }
    let images = ["/boot/efi/EFI/Linux", "/efi/EFI/Linux", "/boot/EFI/Linux"].first(where: system.exists)
    return names.first.map { Place("/boot/\($0)") } ?? images.map { Place($0) }
  }
}
