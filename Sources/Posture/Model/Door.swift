/// Where a fact comes from.
public struct Place: Hashable, Sendable {
  /// Path as the device sees it (below the root directory that was examined).
  public var file: String
  /// 1-based; nil where the fact is the file's existence, owner or absence.
  public var line: Int?

  public init(_ file: String, line: Int? = nil) {
    self.file = file
    self.line = line
  }
}

/// One step of the reasoning that decided a door: a short stable code, and where it was read.
public struct Reason: Hashable, Sendable {
  /// Dotted, lower camel case: `pam.unix`, `agetty.autologin`, `volume.plain`; the last part may be the name of a key of
  /// the system's, with its hyphens: `dconf.lock-enabled`.
  public var code: String
  public var place: Place?

  public init(_ code: String, _ place: Place? = nil) {
    self.code = code
    self.place = place
  }

  public init(_ code: String, file: String, line: Int? = nil) {
    self.init(code, Place(file, line: line))
  }
}

/// One way to get at something, for one subject.
public struct Door: Hashable, Sendable {
  public enum Class: String, Sendable, CaseIterable {
    case entry, boot, remote, unlock, elevation, secret
  }

  /// Whose passcode it is, where that is not the subject's login password.
  public enum Holder: String, Sendable {
    case root, target, volume, wallet, own
  }

  /// How a secret store's answer was proved.
  public struct Proof: Hashable, Sendable {
    public enum Method: String, Sendable { case roundTrip, derivation, header, none }
    public enum Result: String, Sendable { case ok, failed, refused, timeout }
    public var method: Method
    public var result: Result
    public var reason: String?

    public init(_ method: Method, _ result: Result, reason: String? = nil) {
      self.method = method
      self.result = result
      self.reason = reason
    }
  }

  /// Stable name as EVIDENCE lists them: `login@tty1`, `sudo`, `volume:root`.
  public var name: String
  public var `class`: Class
  /// A user's name, `*` for everybody, `external:<source>`.
  public var subject: String
  /// nil: unknown; then `because` says what could not be read or is not modelled.
  public var opening: Opening?
  /// In the order that decided.
  public var because: [Reason]
  /// The root cause to report where this door is open or unknown; nil: the check's general one.
  public var cause: Cause?
  /// The collection that new secrets go to.
  public var isDefault = false
  /// Reached only through this other door: set by ``Judge`` for doors that are ``oncePerBoot``.
  public var behind: String?
  public var whose: Holder?
  public var proof: Proof?
  public var note: String?
  /// False for a row that is shown but counts in no check (a service account's sudo rule, a single harmless command).
  public var counts = true
  /// The door opens at most once after each start of the machine, so that an encrypted system volume stands before it.
  /// False for one that opens again after each logout (text autologin, timed login).
  public var oncePerBoot = false
  /// A volume that the system starts from: what stands before a door that opens once per boot.
  public var holdsSystem = false
  /// What opens the volumes that a store lies on, all that stand one on the other; nil: not known.
  public var ground: Opening? = .always

  public init(
    _ name: String, _ class: Class, _ subject: String, _ opening: Opening?, because: [Reason], cause: Cause? = nil
  ) {
    self.name = name
    self.class = `class`
    self.subject = subject
    self.opening = opening
    self.because = because
    self.cause = cause
  }

  public var answer: Answer { opening?.answer ?? .unknown }
}

/// The code of a finding, with what was seen.
public struct Cause: Hashable, Sendable {
  /// One of ``FindingCatalogue``.
  public var code: String
  /// The value that was seen: "agetty --autologin pi".
  public var observed: String
  /// nil: the last reason of the door that has a place.
  public var evidence: [Place]?

  public init(_ code: String, observed: String, evidence: [Place]? = nil) {
    self.code = code
    self.observed = observed
    self.evidence = evidence
  }
}
