import Glibc
import PosturePlatform

/// Small C programs and libraries of Tests/Judges, built where they are needed.
public enum CCompiler {
  /// The system's, or the one beside swiftc.
  public static let path: String? = {
    let beside = Repository.swiftc.map { "\(Path.folder(of: $0))/clang" }
    return ["/usr/bin/cc", beside ?? ""].first { access($0, X_OK) == 0 }
  }()

  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// - Parameter name: of a file in Tests/Judges.
  public static func build(_ name: String, to product: String, _ options: [String] = []) throws {
    var compile = Command(
      path ?? "/usr/bin/cc", ["-O1", "-o", product, Repository.path("Tests/Judges/\(name)")] + options)
    compile.timeout = 60_000
    let output = try compile.run()
    guard output.status == 0 else { throw Failure(description: String(decoding: output.err, as: UTF8.self)) }
  }

  /// For LD_PRELOAD or a plugin.
  public static func buildLibrary(_ name: String, to product: String) throws {
    try build(name, to: product, ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"])
  }
}
