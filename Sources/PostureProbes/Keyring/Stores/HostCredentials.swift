import Posture

/// Credentials that services of systemd are started with (systemd-creds(1)): nobody is asked for them.
enum HostCredentials {
  private static let hostKey = "/var/lib/systemd/credential.secret"
  private static let tops = ["/etc", "/run", "/usr/local/lib", "/usr/lib"]
  private static let mostFiles = 64

  /// How one credential is sealed, by the identifier that it begins with.
  enum Seal: Hashable {
    /// With a key that everybody knows.
    case nothing
    case hostKey
    /// With the TPM, or with both.
    case tpm
    case unknown

    /// `base64`: the text of the file.
    init(_ base64: some Sequence<UInt8>) {
      // 22 letters hold the sixteen bytes.
      let letters = Array(base64.lazy.filter { ![9, 10, 13, 32].contains($0) }.prefix(22))
      self =
        letters.count == 22 ? Self.known[String(decoding: letters.dropLast(), as: UTF8.self)] ?? .unknown : .unknown
    }

    /// All letters but the last, in which bits of what follows are.
    private static let known: [String: Seal] = [
      "BYRp2vb1QySABUnaD46i+": .nothing, "Whxqht+dQJax1aZeCGLxm": .hostKey, "DHzAexF2RZGcSwvqCLwg/": .tpm,
      "+vfrk0HjQSyhpDb5Wik2L": .tpm, "k6iUCUh0RJCQyvL8k8q1U": .tpm, "r0lQqEkTTrGnOEYwT/MMB": .tpm,
    ]
  }

  static func door(_ context: KeyringContext) -> Door? {
    let system = context.system
    let hasHostKey = hasHostKey(system)
    let plain = files(system, "credstore")
    let sealed = files(system, "credstore.encrypted")
    guard hasHostKey || !plain.isEmpty || !sealed.isEmpty else { return nil }
    let open = plain.first ?? sealed.first { seal(system, $0) == .nothing }
    if let open { return openDoor(context, open, isPlain: !plain.isEmpty) }
    return hasHostKey ? hostKeyDoor(context) : sealedDoor(context, sealed[0])
  }

  static func hasHostKey(_ system: System) -> Bool { (try? system.status(hostKey))?.kind == .regular }

  private static func files(_ system: System, _ folder: String) -> [String] {
    tops.flatMap { top in
      ((try? system.list("\(top)/\(folder)")) ?? []).prefix(mostFiles).map { "\(top)/\(folder)/\($0)" }
    }
  }

  private static func seal(_ system: System, _ path: String) -> Seal {
    (try? system.read(path)).map { Seal($0.bytes) } ?? .unknown
  }

  private static func openDoor(_ context: KeyringContext, _ path: String, isPlain: Bool) -> Door {
    var door = MachineDoors.machineDoor(
      "host-credentials", .always, Reason(isPlain ? "credential.plain" : "credential.nullKey", file: path))
    door.cause = Cause("storeWithoutPasscode", observed: "\(path) is not encrypted")
    return door
  }

  /// systemd-creds seals with the host key and, where there is one, the TPM.
  private static func hostKeyDoor(_ context: KeyringContext) -> Door {
    let isSealed = MachineDoors.hasTPM(context.system)
    var door = MachineDoors.machineDoor(
      "host-credentials", isSealed ? Opening([.device]) : .always,
      Reason(isSealed ? "hostKey.withTPM" : "hostKey.file", file: hostKey))
    door.cause = Cause(
      isSealed ? "deviceBoundOnly" : "storeWithoutPasscode",
      observed: isSealed ? "credentials open on this hardware by themselves" : "the host key is a file on the disk")
    return door
  }

  /// Without a host key only a TPM can have sealed it.
  private static func sealedDoor(_ context: KeyringContext, _ path: String) -> Door {
    let isHere = MachineDoors.hasTPM(context.system)
    var door = MachineDoors.machineDoor(
      "host-credentials", isHere ? Opening([.device]) : nil, Reason("credential.sealed", file: path))
    door.cause =
      isHere
      ? Cause("deviceBoundOnly", observed: "credentials open on this hardware by themselves")
      : Cause("unknownDoor", observed: "what \(path) is sealed with is not here")
    return door
  }
}
