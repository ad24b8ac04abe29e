import Posture
import PosturePlatform

/// Reads crypttab's two dialects, the kernel's command line and the initial RAM disk for how a volume is unlocked.
struct UnlockPlanner {
  let volumes: Volumes
  private var system: System { volumes.system }

  /// `isEarly`: in the initial RAM disk.
  func plan(_ mapping: Mapping, isEarly: Bool) -> UnlockPlan {
    let options = self.options(mapping, isEarly: isEarly)
    let tools = UnlockingTools(system)
    let disk = volumes.initialRAMDisk
    let devices = ["tpm2", "fido2", "pkcs11"]
    var plan = UnlockPlan(key: key(mapping, options, isEarly: isEarly))
    plan.named = Set(devices.filter { options.option("\($0)-device") != nil || options.option("\($0)-uri") != nil })
    plan.plugins = Set(devices.filter(isEarly ? disk.hasPlugin : tools.hasPlugin))
    plan.hasClevis = isEarly ? disk.hasClevis : tools.hasClevis
    plan.triesEmptyPassword = options.isOn("try-empty-password")
    plan.slot = options.option("key-slot") ?? options.option("keyslot")
    return plan
  }

  /// crypttab's row with the options of the command line added.
  private func options(_ mapping: Mapping, isEarly: Bool) -> CrypttabEntry {
    var entry =
      mapping.entry
      ?? CrypttabEntry(
        name: mapping.name, source: mapping.source ?? "", keyFile: nil, options: [], place: mapping.place)
    if isEarly { entry.options += volumes.commandLine.options(of: entry.source) }
    return entry
  }

  /// The dialect of Debian's initial RAM disk, whose words no other one has, and of its boot scripts before systemd.
  private func isScripted(_ entry: CrypttabEntry, isEarly: Bool) -> Bool {
    if isEarly {
      switch volumes.initialRAMDisk.maker {
      case .initramfsTools: return true
      case .dracut, .mkinitcpio: return false
      case .unknown: return volumes.distribution.isDebian || entry.has("initramfs")
      }
    }
    return volumes.distribution.isDebian && system.exists("/etc/inittab")
      && !system.exists("/usr/lib/systemd/systemd") && !system.exists("/lib/systemd/systemd")
  }

  private func key(_ mapping: Mapping, _ entry: CrypttabEntry, isEarly: Bool) -> UnlockPlan.Key {
    if entry.isThrowAway { return .throwAway }
    let isScripted = isScripted(entry, isEarly: isEarly)
    if isScripted, let script = entry.option("keyscript") { return key(fromScript: script, entry) }
    let named = (isEarly ? volumes.commandLine.keyFile(of: entry.source) : nil) ?? entry.keyFile
    if let named { return key(fromFile: named, mapping, entry, isEarly: isEarly, isRequired: true) }
    if isScripted { return .none }
    // systemd looks here by itself.
    for folder in ["/etc/cryptsetup-keys.d", "/run/cryptsetup-keys.d"] {
      let found = key(
        fromFile: "\(folder)/\(entry.name).key", mapping, entry, isEarly: isEarly, isRequired: false)
      if found != .none { return found }
    }
    return .none
  }

  // MARK: Key files

  private func key(
    fromFile named: String, _ mapping: Mapping, _ entry: CrypttabEntry, isEarly: Bool, isRequired: Bool
  ) -> UnlockPlan.Key {
    if let colon = named.lastIndex(of: ":"), named.hasPrefix("/") {
      let device = String(named[named.index(after: colon)...])
      return .file(opening(ofDevice: device), entry.place)
    }
    if named.hasPrefix("/dev/") { return .file(opening(ofDevice: named), entry.place) }
    guard named.hasPrefix("/"), let status = try? system.status(named) else {
      return isEarly && volumes.initialRAMDisk.holds(named)
        ? .file(openingOfRAMDisk(mapping), Place(named)) : missing(named, entry, isRequired)
    }
    if status.kind == .other {
      return .handedOver(
        Cause("notModelled", observed: "a service at \(named) hands over the key", evidence: [entry.place]))
    }
    guard status.kind == .regular else { return .none }
    return isEarly ? earlyKey(named, mapping) : .file(volumes.opening(ofPath: named, before: mapping), Place(named))
  }

  /// Where the file is not there, systemd asks. It may lie on a file system that is not mounted below this root.
  private func missing(_ named: String, _ entry: CrypttabEntry, _ isRequired: Bool) -> UnlockPlan.Key {
    guard isRequired, let mount = volumes.mounts.mount(holding: named), mount.point != "/",
      (try? system.list(mount.point))?.isEmpty != false
    else { return .none }
    return .file(volumes.opening(of: volumes.ground(of: mount)), entry.place)
  }

  /// In the initial RAM disk only what was copied into it can be read, or what lies on a volume that needs no key.
  private func earlyKey(_ path: String, _ mapping: Mapping) -> UnlockPlan.Key {
    if volumes.initialRAMDisk.holds(path) { return .file(openingOfRAMDisk(mapping), Place(path)) }
    guard let mount = volumes.mounts.mount(holding: path), volumes.ground(of: mount) == .plain else { return .none }
    return .file(.always, Place(path))
  }

  /// The initial RAM disk lies in /boot. On the encrypted volume itself, the boot loader has asked for its passphrase.
  private func openingOfRAMDisk(_ mapping: Mapping) -> Opening? {
    guard let mount = volumes.mounts.mount(holding: "/boot") else { return .always }
    let ground = volumes.ground(of: mount)
    return ground.mappings.contains(mapping.name) ? .passcode : volumes.opening(of: ground)
  }

  /// A medium that has to be put in is a token; one that the system mounts anyway is what it lies on.
  private func opening(ofDevice device: String) -> Opening? {
    if device == "/dev/zero" || device == "/dev/null" { return .always }
    guard let mount = volumes.mounts.mounts.first(where: { $0.source == device }) else { return Opening([.token]) }
    return volumes.opening(of: volumes.ground(of: mount))
  }

  // MARK: Key scripts

  /// Scripts that come with Debian's cryptsetup, by their names.
  private func key(fromScript script: String, _ entry: CrypttabEntry) -> UnlockPlan.Key {
    switch Path.name(of: script) {
    case "decrypt_keyctl", "decrypt_ssl", "decrypt_gnupg", "askpass":
      return .asked(.passcode, entry.place)
    case "decrypt_gnupg-sc", "decrypt_opensc": return .asked(Opening([.passcode, .token]), entry.place)
    case "passdev": return .file(Opening([.token]), entry.place)
    case "decrypt_derived":
      guard let other = entry.keyFile, let mapping = volumes.mapping(other), other != entry.name else { break }
      return .file(volumes.opening(of: .mapping(mapping.name, on: .plain)), entry.place)
    default: break
    }
    return .handedOver(
      Cause("notModelled", observed: "keyscript=\(script) hands over the key", evidence: [entry.place]))
  }
}
