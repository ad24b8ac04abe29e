import Posture
import TestKit
import Testing

@testable import PostureProbes

struct BootDoorsTests {
  private static let menu = "menuentry 'Linux' --unrestricted {\n  linux /vmlinuz root=/dev/sda1\n}\n"
  private static let key = "grub.pbkdf2.sha512.10000.00.11"

  private func look(_ files: [String: String], root: String = "*") throws -> [String: Answer] {
    let base = [
      "sbin/init": "x", "etc/inittab": "", "etc/passwd": "root:x:0:0::/root:/bin/sh\n",
      "etc/shadow": "root:\(root):1::::::\n",
    ]
    let tree = try FixtureTree(base.merging(files) { $1 })
    let result = BootDoors.look(AuthContext(try System(root: tree.root)))
    return Dictionary(uniqueKeysWithValues: result.doors.map { ("\($0.name) \($0.subject)", $0.answer) })
  }

  // MARK: GRUB

  @Test(arguments: [
    ("", Answer.notRequired),
    ("set superusers=\"admin\"\npassword_pbkdf2 admin \(key)\n", .required),
    ("superusers='a b'\nset superusers=\"a b\"\npassword b plain\n", .required),
    ("set superusers=\"admin\"\n", .closed),
    ("set superusers=\"admin\"\npassword_pbkdf2 other \(key)\n", .closed),
    ("# set superusers=\"admin\"\npassword_pbkdf2 admin \(key)\n", .notRequired),
    ("set superusers=admin; password_pbkdf2 admin \(key)\n", .closed),
  ])
  func `superusers and their passwords`(_ text: String, _ answer: Answer) throws {
    #expect(try look(["boot/grub/grub.cfg": text + Self.menu])["boot@grub *"] == answer)
  }

  private static let users = "set superusers=\"admin\"\npassword_pbkdf2 admin \(key)\n"
  private static let exported = users + "export superusers\n"
  private static let shell = "menuentry 'Shell' --unrestricted { linux /vmlinuz rw init=/bin/bash }\n"

  @Test(arguments: [
    // A submenu knows of exported superusers only.
    (users + "submenu 'Old' --unrestricted {\n\(menu)}\n", Answer.notRequired),
    (exported + "submenu 'Old' --unrestricted {\n\(menu)}\n", .required),
    (users + "submenu 'Old' {\n\(menu)}\n", .required),
    (users + "submenu 'Old' {\nsubmenu 'Older' --unrestricted {\n\(menu)}\n}\n", .required),
    // An entry that is a root shell for whoever chooses it.
    (exported + shell, .notRequired),
    (exported + "menuentry 'Shell' { linux /vmlinuz rw init=/bin/bash }\n", .required),
    (exported + "submenu 'Old' {\n\(shell)}\n", .required),
    (exported + "menuentry 'Linux' --unrestricted {\n  linux /vmlinuz init=/sbin/init\n}\n", .required),
    (exported + "function f {\n  linux /vmlinuz init=/bin/sh\n}\n", .required),
  ])
  func `what everybody may choose`(_ text: String, _ answer: Answer) throws {
    #expect(try look(["boot/grub/grub.cfg": text + Self.menu])["boot@grub *"] == answer)
  }

  @Test func `files that are sourced count, and only those`() throws {
    let main =
      "if [ -f ${config_directory}/custom.cfg ]; then\n  source ${config_directory}/custom.cfg\nfi\n" + Self.menu
    let users = "set superusers=\"a\"\npassword_pbkdf2 a \(Self.key)\n"
    #expect(try look(["boot/grub/grub.cfg": main, "boot/grub/custom.cfg": users])["boot@grub *"] == .required)
    #expect(try look(["boot/grub/grub.cfg": Self.menu, "boot/grub/custom.cfg": users])["boot@grub *"] == .notRequired)
    #expect(try look(["boot/grub/grub.cfg": main])["boot@grub *"] == .notRequired)
  }

  @Test func `Fedora's user.cfg`() throws {
    let main = """
      if [ -f ${prefix}/user.cfg ]; then
        source ${prefix}/user.cfg
        if [ -n "${GRUB2_PASSWORD}" ]; then
          set superusers="root"
          export superusers
          password_pbkdf2 root ${GRUB2_PASSWORD}
        fi
      fi
      blscfg

      """
    #expect(
      try look(["boot/grub2/grub.cfg": main, "boot/grub2/user.cfg": "GRUB2_PASSWORD=\(Self.key)\n"])["boot@grub *"]
        == .required)
    #expect(try look(["boot/grub2/grub.cfg": main])["boot@grub *"] == .notRequired)
  }

  @Test func `a stub on the EFI partition is not the configuration`() throws {
    let stub = "search.fs_uuid 1 root\nset prefix=($root)'/boot/grub'\nconfigfile $prefix/grub.cfg\n"
    let users = "set superusers=\"a\"\npassword_pbkdf2 a \(Self.key)\n" + Self.menu
    #expect(
      try look(["boot/grub/grub.cfg": users, "boot/efi/EFI/debian/grub.cfg": stub])["boot@grub *"] == .required)
    #expect(
      try look(["boot/grub/grub.cfg": users, "boot/efi/EFI/other/grub.cfg": Self.menu])["boot@grub *"] == .notRequired)
  }

  // MARK: Others

  @Test(arguments: [
    ("editor no\n", Answer.closed), ("editor 0\n", .closed), ("editor yes\n", .notRequired),
    ("timeout 3\n", .notRequired),
    ("#editor no\n", .notRequired), ("editor no\neditor yes\n", .notRequired),
    // Other spellings are passed over.
    ("editor No\n", .notRequired), ("editor off\neditor Yes\n", .closed),
  ])
  func `systemd-boot's editor`(_ text: String, _ answer: Answer) throws {
    #expect(try look(["boot/efi/loader/loader.conf": text])["boot@systemd-boot *"] == answer)
  }

  @Test func `systemd-boot without a file, and with unified images only`() throws {
    #expect(try look(["efi/EFI/systemd/systemd-bootx64.efi": ""])["boot@systemd-boot *"] == .notRequired)
    #expect(
      try look(["efi/loader/loader.conf": "", "efi/EFI/Linux/a.efi": ""])["boot@systemd-boot *"] == .unknown)
  }

  @Test(arguments: [
    ("DEFAULT linux\nPROMPT 1\n", Answer.notRequired), ("ALLOWOPTIONS 0\nPROMPT 1\n", .closed),
    ("UI menu.c32\nMENU MASTER PASSWD x\n", .required), ("DEFAULT vesamenu.c32\nMENU MASTER PASSWD x\n", .required),
    ("DEFAULT linux\nPROMPT 1\nMENU MASTER PASSWD x\n", .notRequired),
    ("PROMPT 0\nNOESCAPE 1\n", .closed),
    ("PROMPT 0\n", .notRequired), ("UI menu.c32\nPROMPT 0\nNOESCAPE 1\n", .notRequired),
  ])
  func `extlinux`(_ text: String, _ answer: Answer) throws {
    #expect(try look(["boot/extlinux/extlinux.conf": text])["boot@extlinux *"] == answer)
  }

  @Test func `U-Boot, the Pi, what is not known`() throws {
    let board = "label linux\n  kernel /Image\n  fdt /board.dtb\n"
    #expect(try look(["boot/extlinux/extlinux.conf": board])["boot@u-boot *"] == .unknown)
    #expect(try look(["boot/boot.scr": ""])["boot@u-boot *"] == .unknown)
    let pi = ["boot/firmware/config.txt": "", "boot/firmware/cmdline.txt": "root=/dev/mmcblk0p2\n"]
    #expect(try look(pi)["boot@pi *"] == .notRequired)
    #expect(try look(pi.merging(["boot/firmware/boot.sig": ""]) { $1 })["boot@pi *"] == .unknown)
    let prefixed = ["boot/firmware/config.txt": "os_prefix=now/\n", "boot/firmware/now/cmdline.txt": "quiet\n"]
    #expect(try look(prefixed)["boot@pi *"] == .notRequired)
    #expect(try look(["boot/efi/EFI/refind/refind.conf": ""])["boot@refind *"] == .unknown)
  }

  @Test func `a kernel without a known loader leaves the check open`() throws {
    let tree = try FixtureTree(["sbin/init": "x", "etc/inittab": "", "boot/vmlinuz-6.1": ""])
    #expect(BootDoors.look(AuthContext(try System(root: tree.root))).gaps.map(\.checks) == [[.bootEntry]])
    let bare = try FixtureTree(["sbin/init": "x", "etc/inittab": ""])
    #expect(BootDoors.look(AuthContext(try System(root: bare.root))).gaps.isEmpty)
  }

  // MARK: Rescue

  private static let rescue = "[Service]\nExecStart=-/usr/lib/systemd/systemd-sulogin-shell rescue\n"

  @Test func `rescue: root's password, forced or not`() throws {
    let hash = "$6$saltsalt$" + String(repeating: "a", count: 86)
    let unit = ["usr/lib/systemd/system/rescue.service": Self.rescue]
    let look = { (files: [String: String], root: String) -> Answer? in
      let tree = try FixtureTree(
        ["etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/shadow": "root:\(root):1::::::\n"].merging(files) { $1 })
      return BootDoors.look(AuthContext(try System(root: tree.root))).doors.first { $0.name == "rescue@sulogin" }?
        .answer
    }
    #expect(try look(unit, "*") == .closed)
    #expect(try look(unit, "!" + hash) == .closed)
    #expect(try look(unit, hash) == .required)
    #expect(try look(unit, "") == .notRequired)
    for force in ["1", "yes", "true"] {
      let dropIn = [
        "etc/systemd/system/rescue.service.d/f.conf": "[Service]\nEnvironment=A=b SYSTEMD_SULOGIN_FORCE=\(force)\n"
      ]
      #expect(try look(unit.merging(dropIn) { $1 }, "*") == .notRequired)
      #expect(try look(unit.merging(dropIn) { $1 }, hash) == .required)
    }
    let off = ["etc/systemd/system/rescue.service.d/f.conf": "[Service]\nEnvironment=SYSTEMD_SULOGIN_FORCE=0\n"]
    #expect(try look(unit.merging(off) { $1 }, "*") == .closed)
    let option = ["usr/lib/systemd/system/emergency.service": "[Service]\nExecStart=-/sbin/sulogin --force\n"]
    #expect(try look(unit.merging(option) { $1 }, "*") == .notRequired)
    let shell = ["usr/lib/systemd/system/emergency.service": "[Service]\nExecStart=-/bin/sh\n"]
    #expect(try look(shell, hash) == .notRequired)
    #expect(try look([:], "*") == nil)
  }
}
