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

  init(_ arguments: inout Arguments) throws(UsageError) {
    let attester = try DeviceOptions.user(&arguments, "--user", DeviceOptions.attesterUser)
    let courier = try DeviceOptions.user(&arguments, "--courier", DeviceOptions.courierUser)
    enrolment = DeviceEnrolment(try DeviceOptions.folder(&arguments), attester: attester, courier: courier)
    bundle = try arguments.option("--install")
    out = try arguments.option("--out")
    isRenewing = arguments.flag("--new-keys")
    name = try Self.name(&arguments)
    try arguments.end()
    try DeviceOptions.demand(attester, courier)
    guard bundle == nil || (out == nil && name == nil && !isRenewing) else {
      throw UsageError("--install goes with none of --name, --out and --new-keys")
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
    let (request, kid) = try enrolment.request(name: name, renewing: isRenewing)
    guard let out else { return Terminal.out(request) }
    try AtomicFile.write(Array("\(request)\n".utf8), to: out, mode: 0o644)
    Terminal.out("kid \(kid)")
    Terminal.out("request: \(out). Next: posturectl enroll \(out), then here: posture-agent enroll --install BUNDLE")
  }

  private func install(_ path: String) throws {
    let file = try Descriptor.open(path, O_RDONLY)
    guard let bytes = try file.readAll(cap: 1 << 20, path) else { throw SystemError(EFBIG, doing: "read", path: path) }
    Terminal.out("enrolled as \(try enrolment.install(bytes))")
  }
}
