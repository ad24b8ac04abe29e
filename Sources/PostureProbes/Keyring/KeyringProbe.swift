public import Posture

/// The keyring question: what opens each store of secrets.
public struct KeyringProbe: Probe {
  public let name = "keyring"

  public init() {}

  public func run(on system: System) -> ProbeResult { ProbeResult() }
}
