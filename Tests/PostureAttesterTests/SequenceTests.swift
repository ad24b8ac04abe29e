import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureAttester
@testable import PostureTokens

/// Whatever becomes of a device's state and of its key: no honest report is refused by a monitor, and no key signs two
/// reports under one number.
@Suite(.serialized, .enabled(if: LiveDevice.isBuilt, "needs posture-agent beside the tests")) struct SequenceTests {
  /// A monitor that remembers every number it saw.
  private struct Observer {
    private let device: LiveDevice
    private var verifier: MonitorVerifier
    private var seen: [String: String] = [:]
    private(set) var reports: [ReportClaims] = []

    init(_ device: LiveDevice, _ credential: String) throws {
      self.device = device
      verifier = MonitorVerifier(trust: try device.site.store())
      try meet(credential)
    }

    private func topic(_ place: (Name) -> Topic.Place) -> String {
      Topic(device.site.name, place(Name("edge-1")!)).text
    }

    mutating func meet(_ credential: String) throws {
      let outcome = verifier.receive(Array(credential.utf8), on: topic(Topic.Place.keys), at: Moment(Clock.wall))
      guard case .credential = outcome.first else { throw LiveDevice.Failure(status: 1, text: "\(outcome)") }
    }

    /// Asks for a report; it verifies, its key is good, and its number is new.
    @discardableResult
    mutating func ask(_ client: inout AttesterClient) throws -> ReportClaims {
      let token = try client.report()
      let now = Moment(Clock.wall)
      let outcome = verifier.receive(Array(token.utf8), on: topic(Topic.Place.report), at: now)
      guard case .message(let message) = outcome.first, case .report(let claims) = message.content else {
        throw LiveDevice.Failure(status: 1, text: "refused: \(outcome)")
      }
      #expect(verifier.standing(of: message.kid, at: now) == .good)
      let number = "\(message.kid) \(claims.sequence)"
      #expect(seen[number] == nil, "\(number) twice")
      seen[number] = message.token.digest
      reports.append(claims)
      return claims
    }

    /// Starts the device, takes some reports, and ends it by `signal`.
    mutating func run(_ signal: Int32, reports count: Int = 3) throws {
      let process = try device.start(keepsNetwork: true)
      defer { process.crash() }
      var client = try device.client()
      for _ in 0..<count { try ask(&client) }
      process.send(signal)
      process.wait()
    }
  }

  private func with(_ words: [String] = [], _ body: (LiveDevice, inout Observer) throws -> Void) throws {
    try TemporaryFolder.with { top in
      let device = try LiveDevice(top, tree: try SmallMachine.make())
      let credential = try device.enroll(words)
      var observer = try Observer(device, credential)
      try body(device, &observer)
    }
  }

  private func loseState(_ device: LiveDevice, _ names: [String]) {
    for name in names { TemporaryFolder.remove("\(device.folder.attester)/\(name)") }
  }

  private static let journal = ["journal.db", "journal.db-wal", "journal.db-shm", "marks"]

  @Test func `over kill -9, stops and starts the numbers rise`() throws {
    try with { _, observer in
      for signal in [SIGTERM, SIGKILL, SIGTERM, SIGKILL] { try observer.run(signal) }
      let numbers = observer.reports.map(\.sequence)
      #expect(numbers == numbers.sorted() && Set(numbers).count == 12)
    }
  }

  @Test func `a lost state with a new enrolment is a new key, and both are believed`() throws {
    try with { device, observer in
      try observer.run(SIGTERM)
      let first = try device.key.kid
      TemporaryFolder.remove(device.folder.path)
      try observer.meet(device.enroll())
      #expect(try device.key.kid != first)
      try observer.run(SIGTERM)
    }
  }

  /// The key is there and its journal is not: asking again for the same key must not make that a first start.
  @Test func `a lost journal with the old key goes on beyond every number of before`() throws {
    try with { device, observer in
      try observer.run(SIGKILL)
      let (kid, last) = (try device.key.kid, observer.reports.last!.sequence)
      loseState(device, Self.journal)
      try observer.meet(device.enroll())
      #expect(try device.key.kid == kid)
      try observer.run(SIGTERM)
      #expect(observer.reports.last!.sequence > last)
    }
  }

  @Test func `new keys take over with their bundle, and an agent that runs goes on until it is started again`() throws {
    try with { device, observer in
      let process = try device.start(keepsNetwork: true)
      var client = try device.client()
      try observer.ask(&client)
      let first = try device.key.kid
      let credential = try device.enroll(["--new-keys"])
      try observer.ask(&client)
      process.stop()
      #expect(try device.key.kid != first)
      try observer.meet(credential)
      try observer.run(SIGTERM)
    }
  }

  @Suite(.serialized, .enabled(if: SoftwareTPM.isInstalled, "needs the packages swtpm, tpm2-tools and tpm2-openssl"))
  struct WithTPM {
    private func with(_ body: (LiveDevice, SoftwareTPM, inout Observer) throws -> Void) throws {
      let tpm = try SoftwareTPM()
      try TemporaryFolder.with { top in
        let words = ["--key", "tpm", "--tcti", tpm.tcti]
        let device = try LiveDevice(top, tree: try SmallMachine.make(), enroll: words)
        var observer = try Observer(device, device.enroll(words))
        try body(device, tpm, &observer)
      }
    }

    private func mode(_ path: String) -> mode_t {
      var status = stat()
      return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test(.timeLimit(.minutes(2))) func `the key is in the TPM, and says so everywhere; that of TLS is a file`() throws
    {
      try with { device, tpm, observer in
        let reference = String(decoding: try Files.read(device.folder.attesterKey), as: UTF8.self)
        #expect(reference.contains("0x81015001") && !reference.contains("PRIVATE"))
        #expect(mode(device.folder.attesterKey) == 0o600 && mode(device.folder.courierKey) == 0o600)
        #expect(String(decoding: try Files.read(device.folder.courierKey), as: UTF8.self).contains("PRIVATE KEY"))
        #expect(try tpm.run("tpm2_getcap", ["handles-persistent"]).contains("0x81015001"))
        try observer.run(SIGKILL)
        try observer.run(SIGTERM)
        #expect(observer.reports.allSatisfy { $0.keyProtection == .tpm })
        let bundle = try EnrolmentBundle(json: JSONParser.parse(Files.read(device.folder.attesterBundle)))
        let credential = try TokenDecoder.decode(bundle.credential, kinds: [.credential]).unverifiedClaims()
        #expect(try CredentialClaims(claims: credential).keyProtection == .tpm)
        // What is there is kept, and never taken for a key of the other kind.
        #expect { try device.agent(["enroll", "--key", "file"]) } throws: {
          ($0 as? LiveDevice.Failure)?.text.contains("is a tpm key") == true
        }
        try device.enroll()
        #expect(try Files.read(device.folder.attesterKey) == Array(reference.utf8))
      }
    }

    @Test(.timeLimit(.minutes(2))) func `a TPM that goes is no key, and one that comes back goes on`() throws {
      try with { device, tpm, observer in
        let process = try device.start(keepsNetwork: true)
        var client = try device.client()
        try observer.ask(&client)
        tpm.stop()
        #expect { try client.report() } throws: { ($0 as? AttesterError)?.code == .signing }
        #expect { try client.report() } throws: { ($0 as? AttesterError)?.code == .signing }
        try tpm.start()
        let next = try observer.ask(&client)
        #expect(next.sequence > observer.reports[0].sequence && next.keyProtection == .tpm)
        process.crash()
        tpm.stop()
        let without = try device.start(keepsNetwork: true)
        #expect(without.wait(20_000) == 70)
        #expect(String(decoding: try Files.read(device.log), as: UTF8.self).contains("tpm"))
      }
    }

    @Test(.timeLimit(.minutes(2))) func `without the TPM a new key is asked for by name, or there is none`() throws {
      try with { device, tpm, observer in
        try observer.run(SIGTERM)
        tpm.stop()
        let before = FolderListing.names(device.folder.attester)
        for words in [["--new-keys", "--key", "tpm", "--tcti", tpm.tcti], ["--key", "tpm", "--tcti", tpm.tcti], []] {
          #expect(throws: LiveDevice.Failure.self) { try device.agent(["enroll"] + words) }
        }
        #expect(FolderListing.names(device.folder.attester) == before)
        try observer.meet(device.enroll(["--new-keys", "--key", "file"]))
        try observer.run(SIGTERM)
        #expect(observer.reports.last!.keyProtection == .file)
      }
    }

    /// The TPM still has the key of before; its numbers are lost, so it signs nothing any more.
    @Test(.timeLimit(.minutes(2))) func `a lost state with a key left in the TPM is a new key`() throws {
      try with { device, tpm, observer in
        try observer.run(SIGKILL)
        let first = try device.key.kid
        TemporaryFolder.remove(device.folder.path)
        try observer.meet(device.enroll(["--key", "tpm", "--tcti", tpm.tcti]))
        #expect(try device.key.kid != first)
        try observer.run(SIGTERM)
        // New keys again and again leave two handles at most: that in force and the one before.
        for _ in 0..<3 { try observer.meet(device.enroll(["--new-keys", "--key", "tpm", "--tcti", tpm.tcti])) }
        try observer.run(SIGTERM)
        let handles = try tpm.run("tpm2_getcap", ["handles-persistent"]).split(separator: "\n")
        #expect(handles.count == 3, "\(handles)")
      }
    }

    @Test(.timeLimit(.minutes(2))) func `check --token is signed by the TPM too`() throws {
      try with { device, _, _ in
        var command = Command(
          LiveDevice.agent,
          ["check", "--token", "--root", device.tree.root, "--config", "\(device.top)/none.json", "--folder"]
            + [device.folder.path])
        command.timeout = 30_000
        let output = try command.run()
        let token = String(decoding: output.out.filter { $0 != 0x0A }, as: UTF8.self)
        #expect(try ReportClaims(claims: device.claims(token, .report)).keyProtection == .tpm)
      }
    }
  }
}
