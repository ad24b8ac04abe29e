import Posture

/// What one look at the system gave: facts of the probes that came to their end, and why others did not.
struct Examination: Sendable {
  var parts: [ProbeName: ProbeResult] = [:]
  /// A few words for each probe that crashed, hung or talked nonsense.
  var failures: [ProbeName: String] = [:]
  /// Every path that was asked for, and those of them that were listed.
  var visited: Set<String> = []
  var listed: Set<String> = []
  /// ``Clock/fileNanoseconds`` when it began: what changes of files are compared with.
  var began: Int64
  /// Milliseconds.
  var took: Int64 = 0

  init(began: Int64) { self.began = began }

  /// The facts for the judge. A probe that failed leaves gaps, and so does what it would have found.
  /// - Parameter refused: documents of the broker that were not taken, by kind, and why.
  func facts(refused: [String: String] = [:]) -> ProbeResult {
    var facts = ProbeResult()
    for name in ProbeName.allCases {
      if let part = parts[name] { facts.add(part) }
      guard let why = failures[name] else { continue }
      facts.gaps.append(
        Gap(Cause("probeFailed", observed: "\(name.rawValue): \(why)", evidence: []), checks: name.checks))
    }
    for (kind, why) in refused.sorted(by: { $0.key < $1.key }) {
      facts.remarks.append(
        Remark(Cause("documentRefused", observed: "\(kind): \(why)", evidence: []), check: .ownerAuthentication))
    }
    return facts
  }
}

/// One line of what the examining process says: the facts of one probe, and the paths it asked for meanwhile.
struct ExaminationPart {
  var name: ProbeName
  var facts: ProbeResult
  var visited: [String]
  var listed: [String]

  /// Bytes of one line.
  static let cap = 8 << 20

  var line: [UInt8] {
    JSON.build { object in
      object("probe", .string(name.rawValue))
      object("facts", facts.json)
      object("visited", .array(visited.map(JSON.string)))
      object("listed", .array(listed.map(JSON.string)))
    }.bytes + [0x0A]
  }

  init(name: ProbeName, facts: ProbeResult, visited: [String], listed: [String]) {
    self.name = name
    self.facts = facts
    self.visited = visited
    self.listed = listed
  }

  init(line: [UInt8]) throws(FactsError) {
    let json: JSON
    do throws(JSONError) {
      json = try JSONParser.parse(line, limits: .init(bytes: Self.cap, depth: 16, anyNumber: true))
    } catch { throw FactsError(member: error.description) }
    let reader = try FactReader(json)
    name = try reader.word("probe")
    facts = try reader.one("facts", ProbeResult.init(facts:))
    visited = try reader.strings("visited")
    listed = try reader.strings("listed")
  }
}
