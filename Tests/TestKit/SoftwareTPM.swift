import Glibc
import PosturePlatform
import Synchronization

/// A swtpm of the test's own, which keeps its state over a stop.
public final class SoftwareTPM: Sendable {
  public static let isInstalled: Bool = {
    let tools: [String] = ["/usr/bin/swtpm", "/usr/bin/tpm2_createprimary"]
    // Multiarch: the folder has the machine's name.
    let providers: [String] = ["x86_64", "aarch64"].map { "/usr/lib/\($0)-linux-gnu/ossl-modules/tpm2.so" }
    return tools.allSatisfy { path in access(path, X_OK) == 0 }
      && providers.contains { path in access(path, R_OK) == 0 }
  }()

  private let folder: Folder
  private let port: UInt16
  private let process = Mutex<RunningProcess?>(nil)
  public var tcti: String { "swtpm:host=127.0.0.1,port=\(port)" }

  public init() throws {
    folder = try Folder()
    // tpm2-tss takes the control port to be the next one.
    port = try Self.twoFreePorts()
    try start()
  }

  deinit { stop() }

  public func start() throws {
    let started = try RunningProcess(
      "/usr/bin/swtpm",
      [
        "socket", "--tpm2", "--tpmstate", "dir=\(folder.path)", "--server",
        "type=tcp,port=\(port),bindaddr=127.0.0.1", "--ctrl", "type=tcp,port=\(port + 1),bindaddr=127.0.0.1",
        "--flags", "not-need-init,startup-clear",
      ], log: folder.file("log"))
    process.withLock { $0 = started }
    for _ in 0..<100 {
      if (try? run("tpm2_getcap", ["properties-fixed"])) != nil { return }
      usleep(50_000)
    }
    throw ToolError(description: "swtpm does not answer")
  }

  /// kill -9: the TPM is gone.
  public func stop() { process.withLock { $0.take() }?.crash() }

  private static func twoFreePorts() throws -> UInt16 {
    for _ in 0..<100 {
      let port = try Loopback.freePort()
      if port < 65_535, (try? Loopback.listen(port + 1)) != nil { return port }
    }
    throw ToolError(description: "no two free ports side by side")
  }

  @discardableResult
  public func run(_ tool: String, _ arguments: [String]) throws -> String {
    var command = Command("/usr/bin/\(tool)", arguments)
    command.environment.append("TPM2TOOLS_TCTI=\(tcti)")
    command.timeout = 20_000
    let output = try command.run()
    guard output.status == 0 else { throw ToolError(description: String(decoding: output.err, as: UTF8.self)) }
    return String(decoding: output.out, as: UTF8.self)
  }

  struct ToolError: Error, CustomStringConvertible {
    let description: String
  }
}
