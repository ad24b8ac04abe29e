public import Posture
import PostureProbes

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
  import PosturePlatform
#endif

/// What this device asks of a person, examined once: the successor of the classic passcode helper.
///
/// ```swift
/// let device = DevicePosture.examine()
/// for answer in [device.passcode, device.ownerAuthentication, device.biometrics, device.keyring] {
///   print(answer.check.rawValue, answer.result.rawValue, answer.reasons.map(\.text))
/// }
/// ```
///
/// Each answer has its reasons, and is as old as ``examinedAt``: examine again before you rely on it.
public struct DevicePosture: Sendable {
  /// The whole evidence: every door, with what opens it.
  public let evidence: Evidence
  /// Seconds since the epoch.
  public let examinedAt: Int64

  /// Examines this device; takes some milliseconds, and needs the right to read what decides (root, on Linux).
  public static func examine(policy: Policy = .entry) -> DevicePosture {
    DevicePosture(evidence: Judge.evidence(of: facts(), under: policy), examinedAt: Int64(time(nil)))
  }

  /// Every owner has a passcode.
  public var passcode: CheckAnswer { answer(.passcode) }
  /// Somebody at the device has to prove who they are.
  public var ownerAuthentication: CheckAnswer { answer(.ownerAuthentication) }
  /// A finger or a face can open something.
  public var biometrics: CheckAnswer { answer(.biometrics) }
  /// Stored secrets are locked behind that proof.
  public var keyring: CheckAnswer { answer(.keyring) }

  /// Any of the ten checks.
  public func answer(_ name: CheckName) -> CheckAnswer {
    guard let check = evidence[name] else { return CheckAnswer(check: name, result: .notRun, reasons: []) }
    let findings = evidence.findings.filter { check.findings.contains($0.id) }
    var reasons = findings.map { CheckAnswer.Reason(code: $0.code, text: $0.observed, places: $0.evidence) }
    if let word = check.reason, !reasons.contains(where: { $0.code == word }) {
      reasons.append(CheckAnswer.Reason(code: word, text: FindingCatalogue[word]?.meaning ?? word, places: []))
    }
    return CheckAnswer(check: name, result: check.result, reasons: reasons)
  }

  #if canImport(LocalAuthentication) && canImport(Security)
    private static func facts() -> ProbeResult {
      let random: @Sendable (Int) -> [UInt8] = { count in (0..<count).map { _ in UInt8.random(in: 0...255) } }
      return AppleProbe(SystemDeviceOwnerPolicy(), KeychainRoundTrip(SystemKeychain(), random: random)).run()
    }
  #else
    private static func facts() -> ProbeResult {
      do throws(SystemError) {
        return DeviceProbe().run(on: try System())
      } catch {
        var facts = ProbeResult()
        facts.gaps = [Gap(Cause("unreadable", observed: "\(error)"), checks: CheckName.allCases)]
        return facts
      }
    }
  #endif
}

/// One answer, never a bare Bool.
public struct CheckAnswer: Hashable, Sendable {
  public let check: CheckName
  /// `notRun` is no success: it could not be told.
  public let result: CheckResult
  public let reasons: [Reason]

  public struct Reason: Hashable, Sendable {
    /// Stable: one of ``FindingCatalogue``, or a word of LAError.
    public let code: String
    public let text: String
    /// Where it was read.
    public let places: [Place]
  }
}
