import Glibc
import PosturePlatform

/// A ``FleetShare`` as its parent has it.
private final class FleetProcess {
  let child: Child
  private let words: Descriptor
  private let answers: Descriptor
  private var unread: [UInt8] = []

  init(_ arguments: [String], log: String) throws(BenchError) {
    do {
      let input = try Pipe()
      let output = try Pipe()
      child = try Child(
        "/proc/self/exe", arguments, log: log, input: input.reader.number, output: output.writer.number)
      words = input.takeWriter()
      answers = output.takeReader()
    } catch { throw BenchError("\(error)") }
  }

  func ask(_ word: FleetShare.Word) {
    _ = try? words.writeAll(Array("\(word.rawValue)\n".utf8))
  }

  /// The next line it says.
  func answer() throws(BenchError) -> String {
    let end = Clock.boottimeMilliseconds + 300_000
    while true {
      if let newline = unread.firstIndex(of: 0x0A) {
        defer { unread.removeFirst(newline + 1) }
        return String(decoding: unread[..<newline], as: UTF8.self)
      }
      var polled = pollfd(fd: answers.number, events: Int16(POLLIN), revents: 0)
      guard Clock.boottimeMilliseconds < end, poll(&polled, 1, 1_000) >= 0 else {
        throw BenchError("a part of the fleet says nothing")
      }
      guard polled.revents != 0 else { continue }
      guard let bytes = try? answers.read(4_096), !bytes.isEmpty else { throw BenchError("a part of the fleet ended") }
      unread += bytes
    }
  }
}

/// A fleet in as many processes as it takes.
final class FleetProcesses {
  private let processes: [FleetProcess]

  /// Three descriptors a device, and nobody is sure of more than some thousands.
  private static let most = 5_000

  /// Made, not connected.
  init(_ count: Int, at site: BenchSite, isFloor: Bool) throws(BenchError) {
    let parts = (count + Self.most - 1) / Self.most
    processes = try (0..<parts).map { part throws(BenchError) in
      let numbers = (count * part / parts + 1)...(count * (part + 1) / parts)
      return try FleetProcess(
        FleetShare.arguments(site.home, numbers, isFloor: isFloor), log: site.folder.file("fleet.log"))
    }
    try expect(.made)
  }

  func tell(_ word: FleetShare.Word) throws(BenchError) {
    processes.forEach { $0.ask(word) }
    try expect(word)
  }

  private func expect(_ word: FleetShare.Word) throws(BenchError) {
    for process in processes {
      let answer = try process.answer()
      guard answer == word.rawValue else { throw BenchError(answer) }
    }
  }

  /// Seconds of CPU time.
  var cpu: Double { processes.map { ProcessReading.cpu(of: $0.child.pid) }.reduce(0, +) / 1e3 }

  /// What went otherwise than it should have.
  var fault: String? {
    do throws(BenchError) { try tell(.fault) } catch { return error.description }
    return nil
  }
}
