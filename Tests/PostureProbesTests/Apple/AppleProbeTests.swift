import Posture
import PostureProbes
import Synchronization
import Testing

/// The Keychain as Apple documents it, with statuses to order.
private final class ScriptedKeychain: Keychain {
  struct State {
    var items: [KeychainItem: [UInt8]] = [:]
    var addStatus: KeychainStatus?
    var isGarbled = false
    var deletes = 0
  }
  let state: Mutex<State>

  init(_ addStatus: KeychainStatus? = nil, leftovers: Int = 0, isGarbled: Bool = false) {
    var state = State(addStatus: addStatus, isGarbled: isGarbled)
    for number in 0..<leftovers {
      state.items[KeychainItem(service: KeychainRoundTrip.service, account: "old\(number)")] = [1]
    }
    self.state = Mutex(state)
  }

  func add(_ item: KeychainItem, secret: [UInt8]) -> KeychainStatus {
    state.withLock { state in
      if let status = state.addStatus { return status }
      guard state.items[item] == nil else { return .duplicateItem }
      state.items[item] = state.isGarbled ? [0] : secret
      return .success
    }
  }

  func read(_ item: KeychainItem) -> (status: KeychainStatus, secret: [UInt8]?) {
    state.withLock { state in state.items[item].map { (.success, $0) } ?? (.itemNotFound, nil) }
  }

  func delete(_ item: KeychainItem) -> KeychainStatus {
    state.withLock { state in
      state.deletes += 1
      return state.items.removeValue(forKey: item) == nil ? .itemNotFound : .success
    }
  }

  func accounts(of service: String) -> [String] {
    state.withLock { $0.items.keys.filter { $0.service == service }.map(\.account) }
  }

  var isEmpty: Bool { state.withLock { $0.items.isEmpty } }
}

private struct ScriptedPolicy: DeviceOwnerPolicy {
  var owner: LocalError?
  var finger: LocalError?
  var biometry = PolicyAnswer.Biometry.touchID

  func canEvaluate(_ policy: LocalPolicy) -> PolicyAnswer {
    PolicyAnswer(error: policy == .deviceOwnerAuthentication ? owner : finger, biometry: biometry)
  }
}

struct AppleProbeTests {
  private func roundTrip(_ keychain: ScriptedKeychain) -> KeychainRoundTrip {
    KeychainRoundTrip(keychain) { count in (0..<count).map { _ in UInt8.random(in: 0...255) } }
  }

  private func evidence(_ policy: ScriptedPolicy, _ keychain: ScriptedKeychain) -> Evidence {
    Judge.evidence(of: AppleProbe(policy, roundTrip(keychain)).run(), under: .entry)
  }

  @Test func `a device with a passcode and a finger passes, bound to the device`() {
    let evidence = evidence(ScriptedPolicy(), ScriptedKeychain())
    #expect(evidence.verdict == .pass)
    #expect(evidence.doors.map(\.name) == ["deviceOwnerAuthentication", "secrets@keychain:this-device"])
    #expect(evidence.doors[0].opening == Opening([.biometric], [.passcode]))
    #expect(evidence.doors[1].opening == Opening([.device, .passcode]))
    #expect(evidence[.deviceBinding]?.result == .success)
    #expect(evidence[.biometrics]?.result == .success)
  }

  @Test func `without a passcode everything is open, and is said once with its reason`() {
    let evidence = evidence(
      ScriptedPolicy(owner: .passcodeNotSet, finger: .passcodeNotSet), ScriptedKeychain(.decode))
    #expect(evidence.verdict == .fail)
    for check in [CheckName.passcode, .ownerAuthentication, .keyring] {
      #expect(evidence[check]?.result == .fail, "\(check)")
    }
    #expect(evidence[.biometrics]?.result == .absent)
    #expect(evidence[.biometrics]?.reason == "passcodeNotSet")
  }

  @Test(arguments: [
    (KeychainStatus.success, Answer.required), (.duplicateItem, .required), (.decode, .notRequired),
    (.notAvailable, .unknown), (.authFailed, .unknown), (.interactionNotAllowed, .unknown),
    (.missingEntitlement, .unknown), (.userCanceled, .unknown), (.parameter, .unknown), (.allocate, .unknown),
    (.unimplemented, .unknown), (KeychainStatus(rawValue: -67_000), .unknown),
  ])
  func `each status means what it proves, and no more`(status: KeychainStatus, answer: Answer) {
    let keychain = ScriptedKeychain(status == .success ? nil : status)
    let door = roundTrip(keychain).run().doors[0]
    #expect(door.answer == answer)
    #expect(door.proof?.reason == "OSStatus \(status.rawValue)")
    #expect(keychain.isEmpty)
  }

  @Test func `nothing is left behind, nor what a crashed run left`() {
    let keychain = ScriptedKeychain(leftovers: 3)
    _ = roundTrip(keychain).run()
    #expect(keychain.isEmpty)
  }

  @Test func `a secret that comes back changed proves nothing`() {
    let keychain = ScriptedKeychain(isGarbled: true)
    #expect(roundTrip(keychain).run().doors[0].answer == .unknown)
    #expect(keychain.isEmpty)
  }

  @Test(arguments: [
    (LocalError.biometryNotAvailable, CheckResult.absent, "biometryNotAvailable"),
    (.biometryNotEnrolled, .absent, "biometryNotEnrolled"), (.biometryNotPaired, .absent, "biometryNotPaired"),
    (.biometryDisconnected, .absent, "biometryDisconnected"), (.biometryLockout, .notRun, "biometryLockout"),
    (.notInteractive, .notRun, "notInteractive"), (.other(-99), .notRun, "localAuthenticationError-99"),
  ])
  func `each error of biometrics keeps its name`(error: LocalError, result: CheckResult, reason: String) {
    let evidence = evidence(ScriptedPolicy(finger: error), ScriptedKeychain())
    #expect(evidence[.biometrics]?.result == result)
    #expect(evidence[.biometrics]?.reason == reason)
    #expect(evidence.doors[0].opening == .passcode)
    #expect(evidence.verdict == .pass)
  }

  @Test func `every code of LAError is read`() {
    let named = (-14 ... -1).map(LocalError.init(code:)) + [LocalError(code: -1004)]
    #expect(named.allSatisfy { if case .other = $0 { false } else { true } })
    #expect(Set(named).count == 15)
    #expect(LocalError(code: 0) == .other(0))
  }

  @Test func `where the policy cannot tell, the Keychain's word counts`() {
    let told = evidence(ScriptedPolicy(owner: .notInteractive, finger: .notInteractive), ScriptedKeychain())
    #expect(told[.ownerAuthentication]?.result == .success)
    #expect(told[.passcode]?.result == .success)
    let open = evidence(ScriptedPolicy(owner: .notInteractive, finger: .notInteractive), ScriptedKeychain(.decode))
    #expect(open[.ownerAuthentication]?.result == .fail)
    let neither = evidence(
      ScriptedPolicy(owner: .notInteractive, finger: .notInteractive), ScriptedKeychain(.notAvailable))
    #expect(neither.verdict == .unknown)
    #expect(neither[.ownerAuthentication]?.result == .notRun)
  }

  @Test func `where the two contradict each other, nothing is claimed`() {
    let evidence = evidence(ScriptedPolicy(), ScriptedKeychain(.decode))
    #expect(evidence.verdict == .unknown)
    #expect(evidence.doors.allSatisfy { $0.answer == .unknown })
  }
}
