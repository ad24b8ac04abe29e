import Posture
import PostureAttester
import PostureFleet
import PostureMQTT
import PosturePlatform
import PostureProbes
import PostureSQLite
import PostureTokens

/// `micro`: the small pieces, each against nothing but itself, to see where time goes.
struct MicroBench: Bench {
  static let name = "micro"
  static let question = "what does each small step cost"

  func run() throws(BenchError) -> [Figure] {
    let evidence = try Recording.evidence()
    let text = evidence.json.bytes
    let claims = Recording.report(evidence, site: Name("bench")!)
    let key: FileKey
    do throws(KeyError) { key = try FileKey.generate() } catch { throw BenchError(error.description) }
    let site = try BenchSite()
    return [
      figure("PAM evaluation of a stack", try Self.stack(site.folder)),
      figure("JSON encode, \(text.count) bytes", Measure.perCall(batch: 50) { _ = evidence.json.bytes }),
      figure("JSON decode", Measure.perCall(batch: 50) { _ = try? JSONParser.parse(text, limits: .foreign) }),
      figure(
        "JWS encode of a report",
        Measure.perCall(batch: 50) { _ = try? TokenEncoder.encode(.report, claims.claims, with: key) }),
      figure("journal append, on the disk", try Self.append(site.folder)),
      figure("MQTT publish, TLS, acknowledged", try Self.publish(site)),
    ]
  }

  private func figure(_ metric: String, _ samples: Samples) -> Figure {
    Figure(bench: Self.name, metric: metric, unit: "us", samples: samples.scaled(by: 1e-3))
  }

  /// This machine's stacks alone, in a tree where nothing else is found: all of them asked for, by their share.
  private static func stack(_ folder: WorkFolder) throws(BenchError) -> Samples {
    let tree = folder.file("tree")
    do {
      for path in ["/etc/pam.d", "/etc/passwd", "/etc/shadow", "/etc/group"] {
        _ = try Command("/bin/mkdir", ["-p", tree + Path.folder(of: path)]).run()
        _ = try Command("/bin/cp", ["-rL", path, tree + Path.folder(of: path)]).run()
      }
      // Files that only others include are no services.
      let services = try Directory.names(in: "\(tree)/etc/pam.d").filter { !$0.hasPrefix("common-") }
      guard !services.isEmpty else { throw BenchError("no PAM stacks here") }
      let system = try System(root: tree)
      let (many, none) = Measure.paired(
        samples: 15, batch: 5, { _ = AuthPolicyProbe(services: services).run(on: system) },
        { _ = AuthPolicyProbe().run(on: system) })
      return Samples([max(0, many.median - none.median) / Double(services.count)])
    } catch { throw BenchError("\(error)") }
  }

  private static func append(_ folder: WorkFolder) throws(BenchError) -> Samples {
    do throws(SQLiteError) {
      let store = try JournalStore(path: folder.file("journal"))
      let entry = JournalStore.Entry(value: String(repeating: "e", count: 800), check: "0")
      var number = 0
      return Measure.perCall(batch: 5) {
        number += 1
        try? store.commit(put: ["\(number)": entry], remove: [])
      }
    } catch { throw BenchError("\(error)") }
  }

  private static func publish(_ site: BenchSite) throws(BenchError) -> Samples {
    do {
      let link = try OperatorLink(site.home, as: .policy, subscribe: [])
      try link.waitOnline()
      let publication = Publication(
        Topic(site.home.site, .policy).text, [UInt8](repeating: 0x2E, count: 2_048), retain: true)
      let samples = Measure.perCall(batch: 20) { try? link.publish(publication) }
      link.close()
      return samples
    } catch { throw BenchError("\(error)") }
  }
}
