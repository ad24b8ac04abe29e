/// The ten questions that every report answers.
public enum CheckName: String, Sendable, CaseIterable {
  case passcode
  case ownerAuthentication = "owner-authentication"
  case bootEntry = "boot-entry"
  case remoteEntry = "remote-entry"
  case elevation
  case screenLock = "screen-lock"
  case biometrics
  case keyring
  case deviceBinding = "device-binding"
  case disk
}

/// The words of EAT `measres` (RFC 9711).
public enum CheckResult: String, Sendable, CaseIterable {
  case success, fail, absent
  case notRun = "not-run"
}
