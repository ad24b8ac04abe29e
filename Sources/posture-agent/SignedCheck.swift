import Posture
import PostureAttester
import PosturePlatform
import PostureTerminal

/// `posture-agent check --token`: the evidence signed with the device's key.
struct SignedCheck {
  private let settings: AttesterSettings

  init(_ arguments: inout Arguments) throws(UsageError) {
    settings = DeviceOptions.settings(
      try DeviceOptions.configuration(&arguments, .folder, .socket), attester: nil, courier: nil)
  }

  /// - Parameter isPlain: of this whole machine under the built-in policy, so that a running attester can be asked.
  func token(_ evidence: Evidence, _ policy: Policy, isPlain: Bool) throws(AttesterError) -> String {
    do throws(AttesterError) { return try AttesterProcess.sign(evidence, under: policy, settings) } catch {
      guard error.code == .busy else { throw error }
      guard isPlain else {
        throw AttesterError(
          .busy, "the running attester has the journal; stop it, or leave out --root, --policy, --service and --user")
      }
      return try ask()
    }
  }

  private func ask() throws(AttesterError) -> String {
    var client: AttesterClient
    do throws(SystemError) { client = try AttesterClient(settings.socket) } catch {
      throw AttesterError(.internal, error.description)
    }
    switch try client.ask(.report(nonces: [], cause: .schedule)) {
    case .token(let token): return token
    case .failed(let code, let why): throw AttesterError(code, why)
    default: throw AttesterError(.internal, "an answer to another question")
    }
  }
}
