import Posture
import PosturePlatform

/// What the machine itself keeps or offers: credentials of systemd, the TPM, this agent's own signing key.
enum MachineDoors {
  /// Where the agent's signing key is kept as a file.
  static let agentKey = DeviceFolder.standard.attesterKey

  static func look(_ context: KeyringContext) -> ProbeResult {
    var result = ProbeResult()
    result.doors = [HostCredentials.door(context), tpm(context.system), agentKey(context)].compactMap { $0 }
    return result
  }

  static func hasTPM(_ system: System) -> Bool {
    system.text("/sys/class/tpm/tpm0/tpm_version_major")?.trimmed == "2"
  }

  static func tpm(_ system: System) -> Door? {
    guard hasTPM(system) else { return nil }
    var door = machineDoor(
      "tpm", Opening([.device]), Reason("tpm.present", file: "/sys/class/tpm/tpm0/tpm_version_major"))
    door.cause = Cause("deviceBoundOnly", observed: "the TPM opens what was sealed without a PIN")
    door.note = "with a PIN it asks for device and passcode"
    return door
  }

  private static func agentKey(_ context: KeyringContext) -> Door? {
    guard let status = try? context.system.status(agentKey), status.kind == .regular else { return nil }
    let ground = context.volumes.mounts.mount(holding: agentKey).map(context.volumes.ground)
    var door = machineDoor(
      "agent-key", ground.map(context.volumes.opening) ?? nil, Reason("agentKey.file", file: agentKey))
    door.cause = Cause("storeWithoutPasscode", observed: "the agent's key is as safe as the volume that it lies on")
    return door
  }

  static func machineDoor(_ name: String, _ opening: Opening?, _ reason: Reason) -> Door {
    var door = Door(name, .secret, "*", opening, because: [reason])
    door.counts = false
    door.proof = Door.Proof(.none, .ok)
    return door
  }
}
