import Glibc
import Posture
public import PosturePlatform
import PostureProbes

/// The process that looks: it runs the probes one after the other, says of each what it saw on its standard output, and
/// ends. Whatever happens to it happens to it alone.
public enum ExaminationProcess {
  /// Seconds of CPU time and bytes of memory after which the kernel ends it.
  private static let processorLimit: UInt = 60
  private static let memoryLimit: UInt = 2 << 30

  /// The verb's body.
  /// - Parameter probes: names of those to run; others than ours are passed over.
  public static func run(root: String, probes: [String]) throws(SystemError) {
    Privilege.hideMemory()
    Heap.releaseCode()
    limit(RLIMIT_CPU, processorLimit)
    // A sanitizer reserves more addresses than any limit allows.
    #if !SANITIZED
      limit(RLIMIT_AS, memoryLimit)
    #endif
    let system = try System(root: root)
    try system.sharing { () throws(SystemError) in try examine(system, probes) }
  }

  private static func examine(_ system: System, _ probes: [String]) throws(SystemError) {
    var visited = Set<String>()
    var listed = Set<String>()
    var owners: [Subject] = []
    for name in probes.compactMap(ProbeName.init(rawValue:)) {
      var facts = name.probe.run(on: system)
      owners += facts.subjects
      if system.isLive, name == .keyring { OwnersWord.add(to: &facts, owners: owners) }
      let part = ExaminationPart(
        name: name, facts: facts, visited: system.visited.subtracting(visited).sorted(),
        listed: system.listed.subtracting(listed).sorted())
      visited.formUnion(part.visited)
      listed.formUnion(part.listed)
      try write(part.line)
    }
  }

  private static func write(_ bytes: [UInt8]) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      done += try retrying("write") {
        bytes.withUnsafeBytes { Glibc.write(1, $0.baseAddress! + done, bytes.count - done) }
      }
    }
  }

  private static func limit(_ resource: __rlimit_resource, _ value: UInt) {
    var limit = rlimit(rlim_cur: value, rlim_max: value)
    setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
  }
}
