import Glibc
import Posture
import PosturePlatform
import TestKit

/// What the broker wrote down of one device, and what an independent judge (record_judge.py) says of it.
final class BrokerRecord {
  struct Verdict {
    let json: JSON
    var faults: [String] { json["faults"]?.strings ?? ["the judge says nothing"] }
    subscript(_ name: String) -> Int64 { json[name]?.integer ?? -1 }
    /// By place.
    func count(_ name: String) -> Int64 { json["counts"]?[name]?.integer ?? 0 }
  }

  let path: String
  private let device: Party
  private var position = 0
  private var rest: [UInt8] = []
  /// Read and not looked at yet.
  private var waiting: ArraySlice<Substring> = []

  init(_ path: String, _ device: Party) {
    self.path = path
    self.device = device
  }

  /// The claims of the next message of the device on `place` that `isIt` takes, among those not looked at yet.
  func wait(for place: String, _ milliseconds: Int64, _ isIt: (JSON) -> Bool = { _ in true }) -> JSON? {
    let topic = "/d/\(device.name)/\(place)"
    let until = Clock.monotonicMilliseconds + milliseconds
    while true {
      collect()
      while let line = waiting.popFirst() {
        let words = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: false)
        guard words.count == 6, words[4].hasSuffix(topic), let claims = Self.claims(words[5]), isIt(claims)
        else { continue }
        return claims
      }
      guard Clock.monotonicMilliseconds < until else { return nil }
      usleep(10_000)
    }
  }

  private func collect() {
    guard let file = try? Descriptor.open(path, O_RDONLY), lseek(file.number, position, SEEK_SET) >= 0,
      let bytes = try? file.readAll(cap: 256 << 20), !bytes.isEmpty
    else { return }
    position += bytes.count
    rest += bytes
    guard let end = rest.lastIndex(of: 0x0A) else { return }
    waiting += String(decoding: rest[..<end], as: UTF8.self).split(separator: "\n")
    rest.removeFirst(end + 1)
  }

  /// Passes over what is there.
  func skip() {
    collect()
    waiting = []
  }

  static func claims(_ token: Substring) -> JSON? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else { return nil }
    return try? JSONParser.parse(payload)
  }

  func judge(credential: String) throws -> Verdict {
    var command = Command(
      "/usr/bin/python3", [Repository.path("Tests/Judges/record_judge.py"), path, device.name.description, credential])
    command.timeout = 120_000
    let output = try command.run()
    guard output.status == 0 else { throw Rig.Failure(description: String(decoding: output.err, as: UTF8.self)) }
    return Verdict(json: try JSONParser.parse(output.out.filter { $0 != 0x0A }))
  }
}
