import Glibc
import Posture
import PostureAttester
import PosturePlatform
import PostureTerminal

/// `posture-agent enroll`: makes the keys and asks to be taken in; then installs what comes back.
struct EnrollCommand {
  private let enrolment: DeviceEnrolment
  private let bundle: String?
  private let name: Name?
  private let out: String?
  private let isRenewing: Bool
  private let key: KeyWish?
  private let attester: Privilege.User?

  init(_ arguments: inout Arguments) throws(UsageError) {
    let attester = try DeviceOptions.user(&arguments, "--user", DeviceOptions.attesterUser)
    let courier = try DeviceOptions.user(&arguments, "--courier", DeviceOptions.courierUser)
    let folder = DeviceFolder(try DeviceOptions.configuration(&arguments, .folder).state)
    enrolment = DeviceEnrolment(folder, attester: attester, courier: courier)
    self.attester = attester
    bundle = try arguments.option("--install")
    let asks = bundle == nil
    out = asks ? try arguments.option("--out") : nil
    isRenewing = asks && arguments.flag("--new-keys")
    key = asks ? try Self.key(&arguments) : nil
    name = asks ? try Self.name(&arguments) : nil
    try arguments.end()
    try DeviceOptions.demand(attester, courier)
  }

  private static func key(_ arguments: inout Arguments) throws(UsageError) -> KeyWish? {
    let word = try arguments.option("--key")
    let tcti = try arguments.option("--tcti")
    guard tcti == nil || word == "tpm" else { throw UsageError("--tcti goes with --key tpm") }
    switch word {
    case "tpm": return .tpm(tcti: tcti)
    case "file": return .file
    case nil: return nil
    case let word?: throw UsageError("--key \(word): not one of file, tpm")
    }
  }

  private static func name(_ arguments: inout Arguments) throws(UsageError) -> Name? {
    guard let text = try arguments.option("--name") else { return nil }
    guard let name = Name(text) else { throw UsageError("--name: a-z, 0-9 and -, at most 63: \(text)") }
    return name
  }

  func run() -> Int32 {
    do {
      try bundle.map(install) ?? ask()
      return 0
    } catch {
      Terminal.error("posture-agent enroll: \(error)")
      return ExitStatus.failed
    }
  }

  private func ask() throws {
    let (request, kid) = try enrolment.request(name: name, renewing: isRenewing, key: key)
    if case .tpm(tcti: nil) = key, let attester, !attester.mayUse(Self.tpm) {
      Terminal.error("posture-agent enroll: the attester's user cannot use \(Self.tpm) yet: add it to its group (tss)")
    }
    guard let out else { return Terminal.out(request) }
    try AtomicFile.write(Array("\(request)\n".utf8), to: out, mode: 0o644)
    Terminal.out("kid \(kid)")
    Terminal.out("request: \(out). Next: posturectl enroll \(out), then here: posture-agent enroll --install BUNDLE")
  }

  /// The kernel's resource manager: where tpm2-tss looks first.
  private static let tpm = "/dev/tpmrm0"

  private func install(_ path: String) throws {
    let file = try Descriptor.open(path, O_RDONLY)
    guard let bytes = try file.readAll(cap: 1 << 20, path) else { throw SystemError(EFBIG, doing: "read", path: path) }
    Terminal.out("enrolled as \(try enrolment.install(bytes))")
  }
}
