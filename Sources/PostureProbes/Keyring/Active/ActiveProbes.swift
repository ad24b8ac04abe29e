import Glibc
import Posture
import PosturePlatform

/// The probes that do something to find out whether it works, on the running system only.
struct ActiveProbes {
  /// When they were started; each has its own time from then on.
  let began: Int64
  var tpm: Attempt<TPM.Outcome>?
  var kernelKeys: Attempt<KernelKeyring.SealedTypes>?
  var session: Attempt<SecretServiceResult>?
  /// The owner in whose session this process runs.
  var owner: String?

  /// Milliseconds.
  private static let kernelKeysTimeout: Int64 = 2_000

  /// nil where another system than the running one is looked at.
  init?(_ context: KeyringContext) {
    guard context.system.isLive else { return nil }
    began = Clock.boottimeMilliseconds
    owner = context.accounts.owners.first { $0.uid == geteuid() }?.name
    tpm = MachineDoors.hasTPM(context.system) ? TPM.start() : nil
    kernelKeys = KernelKeyring.startSealedTypes()
    session = owner == nil ? nil : SecretServiceProbe.start(began + SecretServiceProbe.timeout)
  }

  init(began: Int64, owner: String?) {
    self.began = began
    self.owner = owner
  }

  /// Waits for each no longer than its own time, and adds what it proved.
  func finish(_ result: inout ProbeResult) {
    if let types = kernelKeys?.wait(until: began + Self.kernelKeysTimeout) {
      Self.change("kernel-keyring", in: &result) { $0.note = Self.note($0.note, types) }
    }
    if let owner { finishSession(owner, &result) }
    Self.change("tpm", in: &result) {
      $0.proof = (tpm?.wait(until: began + TPM.timeout) ?? .timeout).proof
    }
  }

  private func finishSession(_ owner: String, _ result: inout ProbeResult) {
    let said = session?.wait(until: began + SecretServiceProbe.timeout) ?? SecretServiceResult(.timeout)
    said.apply(to: &result, owner: owner)
  }

  private static func note(_ note: String?, _ types: KernelKeyring.SealedTypes) -> String? {
    let names = [types.trusted ? "trusted" : nil, types.encrypted ? "encrypted" : nil].compactMap { $0 }
    return names.isEmpty ? note : "\(note ?? ""); key types: \(names.joined(separator: " "))"
  }

  private static func change(_ name: String, in result: inout ProbeResult, _ change: (inout Door) -> Void) {
    for index in result.doors.indices where result.doors[index].name == name { change(&result.doors[index]) }
  }
}
