import TestKit
import Testing

@testable import PostureProbes

/// Which entry of a boot menu starts by itself.
struct BootMenuTests {
  private func words(_ files: [String: String]) throws -> [String] {
    let tree = try FixtureTree(files)
    return BootWords(try System(root: tree.root)).words
  }

  @Test(arguments: [
    (["boot/armbianEnv.txt": "verbosity=1\nextraargs=init=/bin/sh quiet\n"], true),
    (["boot/uEnv.txt": "uname_r=5.10\ncmdline=quiet init=/bin/sh\n"], true),
    (["boot/uEnv.txt": "#cmdline=init=/bin/sh\n"], false),
    (["boot/firmware/config.txt": "cmdline=own.txt\n", "boot/firmware/own.txt": "init=/bin/sh\n"], true),
    (["boot/config.txt": "os_prefix=now/\n", "boot/now/cmdline.txt": "init=/bin/sh\n"], true),
    (["boot/firmware/config.txt": "cmdline=gone.txt\n", "boot/firmware/cmdline.txt": "quiet\n"], false),
  ])
  func `lines that U-Boot and the Pi put together`(_ files: [String: String], _ isFound: Bool) throws {
    #expect(try words(files).contains("init=/bin/sh") == isFound)
  }

  private static let menu = """
    menuentry 'A' --class os $menuentry_id_option 'id-a' {
      linux /vmlinuz first
    }
    submenu 'More' $menuentry_id_option 'more' {
      function load { 
        true
      }
      menuentry 'B' --id id-b {
        linux /vmlinuz second
      }
      menuentry 'C' {
        linux /vmlinuz third ${extra} quiet
      }
    }

    """

  @Test(arguments: [
    ("", "first"), ("set default=\"0\"\n", "first"), ("set default=\"1\"\n", "second"),
    ("set default=\"1>1\"\n", "third"), ("set default='More>B'\n", "second"), ("set default=more>id-b\n", "second"),
    ("set default=\"${saved_entry}\"\n", "third"), ("set default=\"id-a\"\n", "first"),
    ("set default=\"gone\"\n", "first"),
    ("if [ \"${next_entry}\" ]; then\n set default=\"${next_entry}\"\nelse\n set default=\"more>1\"\nfi\n", "third"),
  ])
  func `GRUB's default`(text: String, wanted: String) throws {
    let found = try words([
      "boot/grub/grub.cfg": text + Self.menu, "boot/grub/grubenv": "# GRUB\nsaved_entry=More>C\nextra=a b\n####",
    ])
    #expect(found.contains(wanted))
    #expect(found.contains("a") == (wanted == "third"))
  }

  @Test(
    arguments: [
      ([:], "new"), (["boot/grub2/grubenv": "saved_entry=x-5.9\nkernelopts=root=x old\n"], "old"),
      (["boot/grub2/grubenv": "saved_entry=1\nkernelopts=old\n"], "old"),
      (["boot/loader/loader.conf": "default x-0*\n"], "rescue"),
      (["boot/loader/loader.conf": "default gone*\n"], "new"),
    ] as [([String: String], String)])
  func `entries of the Boot Loader Specification`(files: [String: String], wanted: String) throws {
    let entries = [
      "boot/loader/entries/x-0-rescue.conf": "title R\noptions rescue\n",
      "boot/loader/entries/x-5.9.conf": "title O\noptions $kernelopts\n",
      "boot/loader/entries/x-5.10.conf": "title N\noptions root=x\noptions new\n",
    ]
    #expect(try words(entries.merging(files) { $1 }).contains(wanted))
  }

  @Test(arguments: [
    ("proc/cmdline", "ro \"a=b c\" d='e f'\n"), ("boot/cmdline.txt", "ro a=\"b c\" d=e' 'f\n"),
    ("boot/grub/grub.cfg", "menuentry A {\n linux /vmlinuz a=\"b c\" 'd=e f'\n}\n"),
    ("boot/loader/entries/x.conf", "title It's X\noptions ro \"a=b c\" d='e f'\n"),
    ("boot/extlinux/extlinux.conf", "LABEL it's\n APPEND \"a=b c\" d='e f'\n"),
    ("etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"ro \\\"a=b c\\\" d='e f'\"\n"),
    ("etc/default/grub", "GRUB_CMDLINE_LINUX='\"a=b c\"' # x\nGRUB_CMDLINE_LINUX_DEFAULT='\"d=e f\" ro'\n"),
  ])
  func `what is quoted is one word`(file: String, text: String) throws {
    let found = try words([file: text])
    #expect(found.contains("a=b c") && found.contains("d=e f"))
    #expect(!found.contains { $0.contains("\"") || $0 == "x" })
  }

  @Test(arguments: [
    ("", ["one"]), ("DEFAULT b\n", ["two"]), ("default c\nAPPEND all\n", ["all"]), ("DEFAULT menu.c32\n", ["marked"]),
  ])
  func `extlinux's default`(text: String, wanted: [String]) throws {
    let labels = """
      LABEL a
       APPEND one
      LABEL b
       APPEND two
      LABEL c
       KERNEL /x
      LABEL d
       MENU DEFAULT
       APPEND marked

      """
    let marked = text.contains("menu.c32") ? labels : labels.substituting(" MENU DEFAULT\n", with: "")
    #expect(try words(["boot/extlinux/extlinux.conf": text + marked]) == wanted)
  }
}
