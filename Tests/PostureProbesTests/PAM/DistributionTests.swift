import Posture
import TestKit
import Testing

@testable import PostureProbes

/// Which family a system belongs to decides how its files are read.
struct DistributionTests {
  private static let database = "Package: dpkg\nStatus: install ok installed\n\nPackage: libpam0g\n"
  private static let pam = database + "Status: install ok installed\nVersion: 1.5.2-6\n"

  @Test(
    arguments: [
      ("ID=debian\n", [:], true), ("ID=pop\nID_LIKE=\"ubuntu debian\"\n", [:], true), ("ID=fedora\n", [:], false),
      ("ID=ubuntu-core\nVERSION_ID=\"20\"\n", [:], true), ("ID=Deepin\n", [:], true), ("ID=uos\n", [:], true),
      ("ID=astra\n", ["etc/debian_version": "12.1\n"], true), ("ID=astra\n", ["var/lib/dpkg/status": pam], true),
      ("ID=astra\n", ["var/lib/dpkg/status": database + "Status: deinstall ok config-files\n"], false),
      // As a tool, or for packages of others.
      ("ID=fedora\n", ["var/lib/dpkg/status": ""], false),
      ("ID=poky\n", ["var/lib/dpkg/status": "Package: libpam\nStatus: install ok installed\n"], false),
      ("ID=almalinux\nID_LIKE=\"rhel fedora\"\n", ["etc/debian_version": "12.1\n"], false),
      ("", ["var/lib/dpkg/status": ""], true), ("", [:], false),
    ] as [(String, [String: String], Bool)])
  func `Debian's descendants tell by name, by likeness, or by what they are made of`(
    release: String, files: [String: String], isDebian: Bool
  ) throws {
    let tree = try FixtureTree(files.merging(release.isEmpty ? [:] : ["etc/os-release": release]) { $1 })
    #expect(Distribution(try System(root: tree.root)).isDebian == isDebian)
  }

  @Test func `includes of Debian's are followed where only the database of packages tells`() throws {
    let people = try PeopleTree(services: ["login"], ["/etc/os-release": "ID=astra\n"])
    let outcome = { try people.context.pam.outcome(of: PAM.Call("login"), for: people.context.accounts["alice"]) }
    #expect(try outcome().opening?.answer == .closed)
    try people.tree.write("/var/lib/dpkg/status", Self.pam)
    #expect(try outcome().opening?.answer == .required)
  }
}
