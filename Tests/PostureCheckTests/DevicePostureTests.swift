import Glibc
import Posture
import PostureCheck
import PosturePlatform
import TestKit
import Testing

struct DevicePostureTests {
  @Test func `every answer of this machine has its reason unless it is a plain success`() {
    let device = DevicePosture.examine()
    for name in CheckName.allCases {
      let answer = device.answer(name)
      #expect(answer.check == name)
      if answer.result == .fail || answer.result == .notRun { #expect(!answer.reasons.isEmpty, "\(name)") }
    }
    #expect(device.passcode == device.answer(.passcode))
    #expect(device.examinedAt > 1_700_000_000)
  }

  /// The example of the documentation, as a package of somebody else's would use it.
  @Test(.enabled(if: Long.isWanted && Repository.swiftc != nil, "long tier"))
  func `another package builds and runs the example`() throws {
    try TemporaryFolder.with { folder in
      let manifest = """
        // swift-tools-version: 6.2
        import PackageDescription
        let package = Package(
          name: "example", dependencies: [.package(name: "posture", path: "\(Repository.root)")],
          targets: [.executableTarget(name: "example", dependencies: [.product(name: "PostureCheck", package: "posture")])])
        """
      let source = """
        import Posture
        import PostureCheck
        let device = DevicePosture.examine()
        for answer in [device.passcode, device.ownerAuthentication, device.biometrics, device.keyring] {
          print(answer.check.rawValue, answer.result.rawValue, answer.reasons.map(\\.text))
        }
        """
      _ = try Command("/bin/mkdir", ["-p", "\(folder)/Sources/example"]).run()
      try AtomicFile.write(Array(manifest.utf8), to: "\(folder)/Package.swift")
      try AtomicFile.write(Array(source.utf8), to: "\(folder)/Sources/example/main.swift")
      let swift = Path.join(Path.folder(of: try #require(Repository.swiftc)), "swift")
      var command = Command(swift, ["run", "--package-path", folder])
      command.environment = ["PATH=/usr/bin:/bin", "HOME=\(folder)"]
      command.timeout = 600_000
      let output = try command.run()
      let text = String(decoding: output.out, as: UTF8.self)
      #expect(output.status == 0, "\(String(decoding: output.err, as: UTF8.self).suffix(2000))")
      #expect(
        text.split(separator: "\n").map { $0.prefix { $0 != " " } }.suffix(4) == [
          "passcode", "owner-authentication", "biometrics", "keyring",
        ])
    }
  }
}
