import Glibc
import Posture
import PosturePlatform

/// `size`: what a device has to carry.
struct SizeBench: Bench {
  static let name = "size"
  static let question = "how many bytes does a device carry"

  var agent: String

  func run() throws(BenchError) -> [Figure] {
    guard let bytes = size(of: agent) else { throw BenchError("no file \(agent)") }
    let libraries = linkedLibraries()
    let shared = libraries.compactMap(size).reduce(0, +)
    return [
      figure("binary", Double(bytes) / 1e6, "MB", target: .atMost(15)),
      figure(
        "installed, with the libraries that a bare Debian does not have", Double(bytes + ours(libraries)) / 1e6, "MB",
        target: nil),
      figure("shared libraries", Double(shared) / 1e6, "MB", target: nil),
      figure("shared libraries", Double(libraries.count), "files", target: nil),
    ]
  }

  /// Bytes of those that no package of a minimal Debian brings: they come with the agent.
  private func ours(_ libraries: [String]) -> Int {
    let names = ["libmosquitto", "libsqlite3", "libssl", "libcrypto", "libkeyutils"]
    return libraries.filter { path in names.contains { Path.name(of: path).hasPrefix($0) } }.compactMap(size).reduce(
      0, +)
  }

  private func figure(_ metric: String, _ value: Double, _ unit: String, target: Figure.Target?) -> Figure {
    Figure(bench: Self.name, metric: metric, unit: unit, samples: Samples([value]), target: target)
  }

  private func size(of path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  /// What the dynamic loader brings in, by its own word.
  private func linkedLibraries() -> [String] {
    var command = Command(agent, ["--version"])
    command.environment = ["LD_TRACE_LOADED_OBJECTS=1"]
    let text = (try? command.run()).map { String(decoding: $0.out, as: UTF8.self) } ?? ""
    return text.split(separator: "\n").compactMap { line in
      line.split(separator: " ").first { $0.hasPrefix("/") }.map(String.init)
    }
  }
}
