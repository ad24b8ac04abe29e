import Posture

/// Swap space in the clear beside an encrypted system: what was in memory stays readable on the disk.
enum SwapRemark {
  static func look(_ context: KeyringContext) -> ProbeResult {
    let volumes = context.volumes
    var result = ProbeResult()
    guard let root = volumes.mounts.mount(holding: "/"), volumes.ground(of: root) != .plain else { return result }
    for swap in volumes.mounts.swaps where !swap.source.contains("zram") {
      guard volumes.ground(of: swap) == .plain else { continue }
      let cause = Cause("plainSwap", observed: "\(swap.source) is not encrypted", evidence: [swap.place])
      result.remarks.append(Remark(cause, check: .disk))
    }
    return result
  }
}
