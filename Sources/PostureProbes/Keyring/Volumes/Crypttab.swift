import Posture

/// One row of crypttab(5).
struct CrypttabEntry: Hashable, Sendable {
  /// The mapping that it makes.
  var name: String
  var source: String
  /// A path, or nil where the row names none (missing, `-`, `none`).
  var keyFile: String?
  var options: [String]
  var place: Place

  /// The number of its header, as far as its device or its name has it: by that the kernel's command line means it
  /// (systemd-cryptsetup-generator(8)).
  var number: String? {
    for prefix in ["UUID=", "/dev/disk/by-uuid/"] where source.hasPrefix(prefix) {
      return String(source.dropFirst(prefix.utf8.count))
    }
    return name.hasPrefix("luks-") ? String(name.dropFirst("luks-".utf8.count)) : nil
  }

  /// The value of `name=value`.
  func option(_ name: String) -> String? {
    options.last { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
  }

  func has(_ flag: String) -> Bool { options.contains(flag) }

  /// A boolean option of systemd: the bare word, or a word for true.
  func isOn(_ name: String) -> Bool {
    has(name) || ["yes", "true", "on", "1", "y", "t"].contains(option(name)?.lowercased())
  }

  /// Whether it names `tpm2`, `fido2` or `pkcs11` as what holds the key.
  func names(_ device: String) -> Bool { option("\(device)-device") != nil || option("\(device)-uri") != nil }

  /// Made anew with a random key at each start: swap and scratch space.
  var isThrowAway: Bool {
    guard let keyFile, ["/dev/urandom", "/dev/random", "/dev/hwrng"].contains(keyFile) else { return false }
    return true
  }

  /// Opened in the initial RAM disk.
  var isInInitrd: Bool { has("initramfs") || has("x-initrd.attach") }
}

enum Crypttab {
  static let path = "/etc/crypttab"
  /// What mkinitcpio's hook `sd-encrypt` copies into the initial RAM disk in place of the other.
  static let initialPath = "/etc/crypttab.initramfs"

  /// More rows than any system has; what comes after them is passed over.
  static let mostRows = 1024

  static func parse(_ text: String, at path: String = path) -> [CrypttabEntry] {
    text.lines(keepsEmpty: true).enumerated().lazy.compactMap { index, line in
      let fields = line.words()
      guard fields.count >= 2, !fields[0].hasPrefix("#") else { return nil }
      let key = fields.count > 2 ? String(fields[2]) : "none"
      return CrypttabEntry(
        name: String(fields[0]), source: String(fields[1]).filter { $0 != "\"" },
        keyFile: ["none", "-", ""].contains(key) ? nil : key,
        options: fields.count > 3 ? fields[3].split(separator: ",").map(String.init) : [],
        place: Place(path, line: index + 1))
    }.prefix(mostRows).map { $0 }
  }

  /// Both files, and what of them could not be used; the rows of the initial one are opened early.
  static func read(_ system: System) -> (rows: [CrypttabEntry], gaps: [Gap]) {
    var gaps: [Gap] = []
    let files = [initialPath, path].map { path -> [CrypttabEntry] in
      do throws(System.Unreadable) {
        let rows = parse(try system.read(path).text, at: path)
        if rows.count == mostRows { gaps.append(gap(path, .tooLarge)) }
        return rows
      } catch {
        if error != .missing { gaps.append(gap(path, error)) }
        return []
      }
    }
    let initial = files[0].map {
      var entry = $0
      entry.options.append("x-initrd.attach")
      return entry
    }
    return (initial + files[1], gaps)
  }

  /// A table that says what volumes lie on: without it nothing is sure.
  static func gap(_ path: String, _ error: System.Unreadable) -> Gap {
    Gap(
      Cause("unreadable", observed: "\(path) \(error.words)", evidence: [Place(path)]), checks: [.disk, .deviceBinding])
  }
}
