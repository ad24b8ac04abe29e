import Posture
import PosturePlatform

/// Reads crypttab's two dialects, the kernel's command line and the initial RAM disk for how a volume is unlocked.
struct UnlockPlanner {
  let volumes: Volumes
  private var system: System { volumes.system }

  /// `entry`: what counts as its row; `isEarly`: in the initial RAM disk.
  func plan(_ mapping: Mapping, _ entry: CrypttabEntry, isEarly: Bool) -> UnlockPlan {
    let tools = UnlockingTools(system)
    let disk = volumes.initialRAMDisk
    let devices = ["tpm2", "fido2", "pkcs11"]
    var plan = UnlockPlan(key: key(mapping, entry, isEarly: isEarly))
    plan.namesKeyFile = entry.keyFile != nil
    plan.named = Set(devices.filter(entry.names))
    plan.plugins = Set(devices.filter(isEarly ? disk.hasPlugin : tools.hasPlugin))
    plan.hasClevis = isEarly ? disk.hasClevis : tools.hasClevis
    plan.hasGRUBWithTPM = tools.hasGRUBWithTPM
    // Words of systemd's alone.
    let isScripted = isScripted(entry, isEarly: isEarly)
    plan.triesEmptyPassword = entry.isOn("try-empty-password") && !isScripted
    plan.isHeadless = entry.isOn("headless") && !isScripted
    plan.slot = entry.option("key-slot") ?? entry.option("keyslot")
    plan.gap = isEarly ? disk.fault : nil
    return plan
  }

  /// What the initial RAM disk's own crypttab says where it has a row, with what the command line says.
  func entry(_ mapping: Mapping, isEarly: Bool) -> CrypttabEntry {
    let bare = CrypttabEntry(
      name: mapping.name, source: mapping.source ?? "", keyFile: nil, options: [], place: mapping.place)
    var row = isEarly ? volumes.initialRow(of: mapping) ?? mapping.entry : mapping.entry
    var entry = row ?? bare
    if isScripted(entry, isEarly: isEarly) { return entry }
    let line = isEarly ? volumes.initialCommandLine : volumes.commandLine
    if line.ignoresCrypttab(isEarly: isEarly) {
      // A key file that it names opens the volume all the same.
      entry = bare
      entry.keyFile = row?.keyFile
      row = nil
    }
    // systemd knows a row by its own words.
    let number = (row ?? bare).number ?? (row == nil ? mapping.number : nil)
    if let own = line.options(of: number, isEarly: isEarly) {
      entry.options = own
    } else if row == nil {
      entry.options = line.commonOptions(isEarly: isEarly)
    }
    entry.keyFile =
      (row == nil ? line.keyFile(of: number, isEarly: isEarly) : nil) ?? entry.keyFile
      ?? (isEarly && row == nil ? hookKey : nil)
    return entry
  }

  /// The key that the boot scripts of Arch and Alpine look for by themselves.
  private var hookKey: String? {
    let path = "/crypto_keyfile.bin"
    return volumes.initialRAMDisk.holds(path) ? path : nil
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
    if isScripted, let script = entry.option("keyscript"), Path.name(of: script) != "cat" {
      return key(fromScript: script, mapping, entry)
    }
    if let named = entry.keyFile {
      let key = key(fromFile: named, mapping, entry, isEarly: isEarly, isRequired: true)
      return isScripted ? key : sealed(key, entry)
    }
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

  /// A key file beside the name of a device holds the key as that device alone can read it (crypttab(5)).
  private func sealed(_ key: UnlockPlan.Key, _ entry: CrypttabEntry) -> UnlockPlan.Key {
    guard case .file(let name, let place?, let at) = key else { return key }
    let asksPIN = entry.isOn("tpm2-pin")
    if entry.names("tpm2") {
      return .file(name, place.and(asksPIN ? Opening([.device, .passcode]) : Opening([.device])), at)
    }
    if entry.names("pkcs11") { return .file(name, place.and(Opening([.token])), at) }
    return entry.names("fido2") ? .file(name, place.and(Opening([.passcode, .token])), at) : key
  }

  private func key(
    fromFile named: String, _ mapping: Mapping, _ entry: CrypttabEntry, isEarly: Bool, isRequired: Bool
  ) -> UnlockPlan.Key {
    if let colon = named.lastIndex(of: ":"), named.hasPrefix("/") {
      let device = String(named[named.index(after: colon)...])
      return .file(named, opening(ofDevice: device, mapping), entry.place)
    }
    if named.hasPrefix("/dev/"), !Self.isVolatile(named) {
      return .file(named, opening(ofDevice: named, mapping), entry.place)
    }
    guard named.hasPrefix("/"), let status = try? system.status(named) else {
      return isEarly && volumes.initialRAMDisk.holds(named)
        ? keyInRAMDisk(named, mapping) : missing(named, entry, isRequired)
    }
    if status.kind == .other {
      return .handedOver(
        Cause("notModelled", observed: "a service at \(named) hands over the key", evidence: [entry.place]))
    }
    guard status.kind == .regular else { return .none }
    return isEarly
      ? earlyKey(named, mapping) : .file(named, volumes.opening(ofPath: named), Place(named))
  }

  /// Folders that are empty at every start: a key in one was put there by a program.
  private static func isVolatile(_ path: String) -> Bool {
    ["/run", "/var/run", "/tmp", "/dev/shm"].contains { MountTable.isInside(path, $0) }
  }

  /// Where the file is not there, systemd asks. It may lie on a file system that is not mounted below this root.
  private func missing(_ named: String, _ entry: CrypttabEntry, _ isRequired: Bool) -> UnlockPlan.Key {
    guard isRequired else { return .none }
    if Self.isVolatile(named) {
      return .handedOver(
        Cause("notModelled", observed: "\(named) is made while the system runs", evidence: [entry.place]))
    }
    guard let mount = volumes.mounts.mount(holding: named), mount.point != "/",
      (try? system.list(mount.point))?.isEmpty != false
    else { return .none }
    return .file(named, volumes.opening(of: volumes.ground(of: mount)), entry.place)
  }

  /// In the initial RAM disk only what was copied into it can be read, or what lies on a volume that needs no key.
  private func earlyKey(_ path: String, _ mapping: Mapping) -> UnlockPlan.Key {
    if volumes.initialRAMDisk.holds(path) { return keyInRAMDisk(path, mapping) }
    guard let mount = volumes.mounts.mount(holding: path), volumes.ground(of: mount) == .plain else { return .none }
    return .file(path, .always, Place(path))
  }

  /// The initial RAM disk lies in /boot. On the encrypted volume itself, the boot loader has asked for its passphrase.
  private func openingOfRAMDisk(_ mapping: Mapping) -> Opening? {
    guard let mount = volumes.mounts.mount(holding: volumes.initialRAMDisk.path ?? "/boot") else { return .always }
    let ground = volumes.ground(of: mount)
    return ground.mappings.contains(mapping.name) ? .passcode : volumes.opening(of: ground)
  }

  private func keyInRAMDisk(_ path: String, _ mapping: Mapping) -> UnlockPlan.Key {
    var file = path
    if case .contents = volumes.initialRAMDisk.image { file = volumes.initialRAMDisk.path ?? path }
    return .file(path, openingOfRAMDisk(mapping), Place(file))
  }

  /// A medium that has to be put in is a token; one that the system mounts anyway is what it lies on, and one on the
  /// same disk is always there.
  private func opening(ofDevice device: String, _ mapping: Mapping) -> Opening? {
    if device == "/dev/zero" || device == "/dev/null" { return .always }
    if let mount = volumes.mounts.mounts.first(where: { volumes.isSame($0.source, device) }), !isPutIn(device) {
      return volumes.opening(of: volumes.ground(of: mount))
    }
    guard let here = volumes.devices.disk(ofSource: device), let source = mapping.source else {
      return Opening([.token])
    }
    return here == volumes.devices.disk(ofSource: source) ? .always : Opening([.token])
  }

  /// What fstab leaves for a person to mount, but for the machine's own boot partition.
  private func isPutIn(_ device: String) -> Bool {
    volumes.mounts.fstab.contains { row in
      row.options.contains("noauto") && !row.options.contains("x-systemd.automount")
        && !["/boot", "/efi"].contains { MountTable.isInside(row.point, $0) } && volumes.isSame(row.source, device)
    }
  }

  // MARK: Key scripts

  /// Scripts that come with Debian's cryptsetup, by their names.
  private func key(fromScript script: String, _ mapping: Mapping, _ entry: CrypttabEntry) -> UnlockPlan.Key {
    switch Path.name(of: script) {
    case "decrypt_keyctl", "decrypt_ssl", "decrypt_gnupg", "askpass":
      return .asked(.passcode, entry.place)
    case "decrypt_gnupg-sc", "decrypt_opensc": return .asked(Opening([.passcode, .token]), entry.place)
    case "ykluks-keyscript": return .asked(Opening([.passcode, .token]), entry.place)
    case "passdev":
      // DEVICE:PATH[:TIMEOUT]
      let device = String((entry.keyFile ?? "").prefix { $0 != ":" })
      return .file(entry.keyFile ?? script, opening(ofDevice: device, mapping), entry.place)
    case "decrypt_derived":
      guard let other = entry.keyFile, let mapping = volumes.mapping(other), other != entry.name else { break }
      return .file("the key of \(other)", volumes.opening(of: .mapping(mapping.name, on: .plain)), entry.place)
    default: break
    }
    return .handedOver(
      Cause("notModelled", observed: "keyscript=\(script) hands over the key", evidence: [entry.place]))
  }
}
