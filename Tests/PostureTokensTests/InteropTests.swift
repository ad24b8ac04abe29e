import Glibc
import PosturePlatform
import TestKit
import Testing

/// Other people's libraries read our tokens.
@Suite struct InteropTests {
  static let python = "/usr/bin/python3"
  static let hasLibraries: Bool = {
    let needed = ["/usr/bin/jose", "/usr/lib/python3/dist-packages/jwt/__init__.py"]
    return needed.allSatisfy { access($0, R_OK) == 0 }
  }()

  @Test(.enabled(if: hasLibraries, "needs the packages python3-jwt and jose"))
  func `PyJWT and jose verify what we accept`() throws {
    var command = Command(Self.python, [Repository.path("Tests/Interop/verify_vectors.py"), Vector.folder])
    command.timeout = 60_000
    let output = try command.run()
    let text = String(decoding: output.out + output.err, as: UTF8.self)
    #expect(output.status == 0, "\(text)")
    let counts = text.split(separator: "\n").compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
    #expect(counts.count == 2 && counts.allSatisfy { $0 >= 20 }, "\(text)")
  }
}
