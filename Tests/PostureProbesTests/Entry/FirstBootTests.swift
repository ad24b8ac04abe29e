import Posture
import TestKit
import Testing

@testable import PostureProbes

struct FirstBootTests {
  private static let units = "/usr/lib/systemd/system"

  private func isAsked(_ service: String, _ files: [String: String] = [:], isLinked: Bool = true) throws -> Bool {
    let tree = try FixtureTree([
      "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "/etc/shadow": "root:!unprovisioned:1::::::\n",
      "\(Self.units)/multi-user.target": "[Unit]\n",
      "\(Self.units)/\(service)": "[Service]\nExecStart=/usr/bin/systemd-firstboot --prompt-root-password\n",
      "\(Self.units)/other.service": "[Service]\n",
    ])
    for (path, text) in files { try tree.write(path, text) }
    let linked = isLinked ? service : "other.service"
    tree.link("/etc/systemd/system/multi-user.target.wants/\(linked)", to: "\(Self.units)/\(linked)")
    let result = AuthPolicyProbe().run(on: try System(root: tree.root))
    return result.gaps.contains { $0.checks.contains(.passcode) && $0.cause.observed.contains("first start") }
  }

  @Test func `a dialog that makes an administrator`() throws {
    #expect(try isAsked("userconfig.service"))
    #expect(try !isAsked("userconfig.service", isLinked: false))
    #expect(try !isAsked("any.service"))
  }

  @Test func `systemd-firstboot`() throws {
    let name = "systemd-firstboot.service"
    #expect(try isAsked(name))
    #expect(try isAsked(name, ["/etc/machine-id": "uninitialized\n"]))
    #expect(try !isAsked(name, ["/etc/machine-id": "0123456789abcdef0123456789abcdef\n"]))
    #expect(try !isAsked(name, ["/etc/shadow": "root:!:1::::::\n"]))
    #expect(try !isAsked(name, ["\(Self.units)/\(name)": "[Service]\nExecStart=systemd-firstboot --prompt-locale\n"]))
  }

  @Test func `gdm without anybody`() throws {
    let files = [
      "\(Self.units)/gdm.service": "[Service]\nExecStart=/usr/sbin/gdm\n", "/usr/sbin/gdm": "",
      "\(Self.units)/display-manager.service": "[Service]\nExecStart=/usr/sbin/gdm\n",
      "\(Self.units)/graphical.target": "[Unit]\nWants=display-manager.service\n", "/etc/gdm/custom.conf": "[daemon]\n",
    ]
    let setup = ["/usr/libexec/gnome-initial-setup": ""]
    #expect(try !isAsked("any.service", files))
    #expect(try isAsked("any.service", files.merging(setup) { $1 }))
    let off = setup.merging(["/etc/gdm/custom.conf": "[daemon]\nInitialSetupEnable=False\n"]) { $1 }
    #expect(try !isAsked("any.service", files.merging(off) { $1 }))
    let owned = setup.merging(["/etc/passwd": "a:x:1000:1000::/home/a:/bin/sh\n"]) { $1 }
    #expect(try !isAsked("any.service", files.merging(owned) { $1 }))
  }
}
