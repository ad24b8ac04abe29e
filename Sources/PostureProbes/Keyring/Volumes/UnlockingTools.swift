/// What the running system has for unlocking further volumes.
struct UnlockingTools {
  private let system: System

  init(_ system: System) { self.system = system }

  /// cryptsetup's plugin for the tokens of systemd.
  func hasPlugin(_ device: String) -> Bool {
    let file = "cryptsetup/libcryptsetup-token-systemd-\(device).so"
    var folders = ["/usr/lib", "/usr/lib64", "/lib", "/lib64"]
    folders += ["x86_64", "aarch64", "arm", "i386", "riscv64"].flatMap { machine in
      ["/usr/lib/\(machine)-linux-gnu\(machine == "arm" ? "eabihf" : "")"]
    }
    return folders.contains { system.exists("\($0)/\(file)") }
  }

  /// clevis answers systemd's questions for passwords.
  var hasClevis: Bool {
    ["/usr/lib/systemd/system/clevis-luks-askpass.path", "/lib/systemd/system/clevis-luks-askpass.path"]
      .contains(where: system.exists)
  }

  /// Whether GRUB asks the TPM: without a menu that could say so, as its token says.
  var hasGRUBWithTPM: Bool {
    let menus = (["/boot/grub2", "/boot/grub"] + bootLoaderFolders).compactMap { system.text("\($0)/grub.cfg") }
    return menus.isEmpty || menus.contains { $0.contains("tpm2") }
  }

  /// The folder of each distribution on the EFI system partition.
  private var bootLoaderFolders: [String] {
    ["/boot/efi/EFI", "/efi/EFI"].flatMap { top in
      ((try? system.list(top)) ?? []).prefix(64).map { "\(top)/\($0)" }
    }
  }
}
