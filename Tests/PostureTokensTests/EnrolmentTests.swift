import Glibc
import Posture
import PosturePlatform
import PostureTokens
import TestKit
import Testing

@Suite struct EnrolmentTests {
  let site: TestSite
  let authority: CertificateAuthority
  let key: FileKey
  let tlsKey: FileKey
  let broker = EnrolmentBundle.Broker(host: "127.0.0.1", port: 8883, serverName: "localhost")
  var moment: Moment { Moment(site.now) }

  init() throws {
    site = try TestSite()
    authority = try CertificateAuthority.create(
      site: site.name, key: try FileKey.generate(), at: site.now, until: site.now + 10_000_000)
    key = try FileKey.generate()
    tlsKey = try FileKey.generate()
  }

  func request() throws -> String {
    try EnrolmentRequest.make(name: Name("edge-0042"), key: key, tlsKey: tlsKey, host: "edge", at: site.now)
  }

  func enrolment() throws -> Enrolment {
    Enrolment(root: site.root.jwk, issuer: site.issuer, authority: authority, trust: try site.trust())
  }

  func bundle() throws -> EnrolmentBundle {
    try enrolment().bundle(
      for: EnrolmentRequest(Array(request().utf8)), name: Name("edge-0042")!, role: .device, groups: [Name("lathe")!],
      broker: broker, at: site.now, until: site.now + 1_000_000)
  }

  @Test func `request, bundle, installation`() throws {
    let text = try request()
    #expect(text.utf8.count < 1_500)
    let read = try EnrolmentBundle(json: JSONParser.parse(bundle().json.bytes))
    let (credential, trust) = try read.check(key: key.publicKey, tlsKey: tlsKey, at: moment)
    #expect(credential.kid == key.publicKey.kid)
    #expect(credential.grant.groups == [Name("lathe")!])
    #expect(trust.current?.version == 1)
  }

  @Test func `a bundle for other keys or another party is refused`() throws {
    let bundle = try bundle()
    let other = try FileKey.generate()
    #expect { try bundle.check(key: other.publicKey, tlsKey: tlsKey, at: moment) } throws: { Self.isMismatch($0) }
    #expect { try bundle.check(key: key.publicKey, tlsKey: other, at: moment) } throws: { Self.isMismatch($0) }
    var renamed = bundle
    renamed.party = site.party("edge-0043")
    #expect { try renamed.check(key: key.publicKey, tlsKey: tlsKey, at: moment) } throws: { Self.isMismatch($0) }
    var promoted = bundle
    promoted.role = .controller
    #expect { try promoted.check(key: key.publicKey, tlsKey: tlsKey, at: moment) } throws: { Self.isMismatch($0) }
    var foreign = bundle
    foreign.tlsAuthority = try CertificateAuthority.create(
      site: site.name, key: other, at: site.now, until: site.now + 1_000
    ).certificate.pem()
    #expect { try foreign.check(key: key.publicKey, tlsKey: tlsKey, at: moment) } throws: { Self.isMismatch($0) }
  }

  private static func isMismatch(_ error: any Error) -> Bool {
    if case .mismatch? = error as? EnrolmentError { true } else { false }
  }

  @Test func `a bundle of another root is refused`() throws {
    var bundle = try bundle()
    bundle.root = try FileKey.generate().publicKey.jwk
    #expect(throws: EnrolmentError.self) { try bundle.check(key: key.publicKey, tlsKey: tlsKey, at: moment) }
  }

  @Test func `a request signed by another key than it names is refused`() throws {
    var claims = EnrolmentRequestClaims(
      name: nil, issuedAt: site.now, key: key.publicKey.jwk, keyProtection: .file,
      tlsRequest: try CertificateRequest.make(key: tlsKey, commonName: "x").der())
    let good = try TokenEncoder.encode(.request, claims.claims, with: key)
    #expect(try EnrolmentRequest(Array(good.utf8)).kid == key.publicKey.kid)
    claims.key = tlsKey.publicKey.jwk
    let bad = try TokenEncoder.encode(.request, claims.claims, with: key)
    #expect(throws: EnrolmentError.notItsOwnKey) { try EnrolmentRequest(Array(bad.utf8)) }
  }

  @Test func `a TLS request that was changed is refused`() throws {
    var der = try CertificateRequest.make(key: tlsKey, commonName: "edge-0042").der()
    der[der.count - 1] ^= 1
    #expect(throws: CertificateError.self) { try CertificateRequest(der: der) }
    #expect(throws: CertificateError.self) { try CertificateRequest(der: []) }
    #expect(throws: CertificateError.self) { try CertificateRequest(der: der + [0]) }
  }

  @Test(arguments: ["a,DNS:evil", "a b", "", "*.example", "a:b:zz", "a\n"])
  func `a host name that could smuggle another is refused`(_ name: String) {
    #expect(throws: CertificateError.self) {
      try authority.sign(
        key, commonName: Name("broker")!, site: site.name, usage: .server(names: [name]), at: site.now,
        until: site.now + 1_000)
    }
  }

  @Test func `openssl verifies what we sign`() throws {
    let folder = "/tmp/tokens-test-\(Int.random(in: 0..<Int.max))"
    mkdir(folder, 0o700)
    defer { _ = try? Command("/bin/rm", ["-rf", folder]).run() }
    let server = try authority.sign(
      key, commonName: Name("broker")!, site: site.name,
      usage: .server(names: ["localhost", "127.0.0.1", "::1"]), at: site.now, until: site.now + 1_000)
    let client = try bundle().tlsCertificate
    try AtomicFile.write(Array(authority.certificate.pem().utf8), to: "\(folder)/ca.pem")
    try AtomicFile.write(Array(server.pem().utf8), to: "\(folder)/server.pem")
    try AtomicFile.write(Array(client.utf8), to: "\(folder)/client.pem")
    for (file, arguments) in [
      ("server", ["-purpose", "sslserver", "-verify_hostname", "localhost"]),
      ("server", ["-purpose", "sslserver", "-verify_ip", "127.0.0.1"]),
      ("server", ["-purpose", "sslserver", "-verify_ip", "::1"]), ("client", ["-purpose", "sslclient"]),
    ] {
      let output = try Command(
        "/usr/bin/openssl",
        ["verify", "-x509_strict", "-attime", "\(site.now)", "-CAfile", "\(folder)/ca.pem"] + arguments
          + ["\(folder)/\(file).pem"]
      ).run()
      #expect(output.status == 0, "\(String(decoding: output.err, as: UTF8.self))")
    }
    let wrong = try Command(
      "/usr/bin/openssl",
      [
        "verify", "-attime", "\(site.now)", "-CAfile", "\(folder)/ca.pem", "-purpose", "sslserver",
        "\(folder)/client.pem",
      ]
    ).run()
    #expect(wrong.status != 0)
    let read = try Certificate(pem: client)
    #expect(read.commonName == "edge-0042")
    #expect(read.notAfter == site.now + 1_000_000)
    #expect(server.isFor(host: "localhost") && !server.isFor(host: "elsewhere"))
  }
}
