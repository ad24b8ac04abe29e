import Glibc
import PosturePlatform
import TestKit
import Testing

/// The files that call Apple's frameworks are compiled against declarations of the same shape, so that they cannot rot.
/// They are not run: that needs Apple hardware.
struct AppleTypeCheckTests {
  @Test(.enabled(if: Repository.swiftc != nil, "no swiftc in PATH"))
  func `the guarded files compile against Apple's declarations`() throws {
    try TemporaryFolder.with { modules in
      for stub in ["Security", "LocalAuthentication"] {
        try compile(modules, module: stub, [Repository.path("Tests/AppleStubs/\(stub).swift")])
      }
      let folder = Repository.path("Sources/PostureProbes/Apple")
      let files = FolderListing.names(folder).map { "\(folder)/\($0)" }
      try compile(modules, module: "PostureProbes", files)
      try compile(modules, module: "PostureCheck", [Repository.path("Sources/PostureCheck/DevicePosture.swift")])
    }
  }

  private func compile(_ modules: String, module: String, _ files: [String]) throws {
    let flags = [
      "-emit-module", "-parse-as-library", "-module-name", module, "-emit-module-path",
      "\(modules)/\(module).swiftmodule",
      "-swift-version", "6", "-warnings-as-errors", "-enable-upcoming-feature", "InternalImportsByDefault",
      "-enable-upcoming-feature", "ExistentialAny", "-I", modules, "-I", "\(Repository.products)/Modules",
    ]
    // The C modules of our own libraries are found as the package manager finds them.
    let headers = ["-Xcc", "-fmodule-map-file=\(Repository.products)/CLinux.build/module.modulemap"]
    var command = Command(try #require(Repository.swiftc), flags + headers + files)
    command.environment = ["PATH=/usr/bin:/bin", "HOME=\(modules)"]
    command.timeout = 120_000
    let output = try command.run()
    #expect(output.status == 0, "\(String(decoding: output.err + output.out, as: UTF8.self))")
  }
}
