import Posture
import PosturePlatform

extension PAM {
  /// pam_u2f: a security key, for whoever is in its mapping.
  struct SecurityKeyModule {
    private let question: ModuleQuestion

    static let answer: ModuleModels.Model = { question in
      guard question.group == .auth else { return .fixed(.success) }
      return SecurityKeyModule(question: question).configured()
    }

    // MARK: Options

    private static let usualFile = "/etc/security/pam_u2f.conf"

    private var version: Version? { PackageDatabase.of(question.system).version(of: .u2f) }

    private func isSince(_ version: Version) -> Bool { self.version.map { $0 >= version } ?? false }

    /// Since 1.4 a file may hold options, over which the arguments win. The module wants it safe from others, and fails
    /// where it cannot have it.
    private func configured() -> ModuleAnswer {
      guard isSince(Version(1, 4)) else { return answer() }
      let named = question.value("conf")
      let path = named ?? Self.usualFile
      do throws(System.Unreadable) {
        let file = try question.system.read(path)
        let isSafe = file.owner == 0 && !file.isWritableByGroup && !file.isWritableByOthers
        guard isSafe, question.system.link(path) == nil else { return .fixed(.serviceError) }
        var question = question
        question.entry.arguments.insert(contentsOf: Self.options(file.text), at: 0)
        return SecurityKeyModule(question: question).answer()
      } catch {
        switch error {
        case .missing where named == nil: return answer()
        case .denied, .tooLarge, .other: return question.anything(question.unreadable(path, error))
        default: return .fixed(.serviceError)
        }
      }
    }

    /// `name = value` as the argument that it stands for.
    private static func options(_ text: String) -> [String] {
      text.lines().map { line in
        line.prefix { $0 != "#" }.split(separator: "=", maxSplits: 1).map(\.trimmed).joined(separator: "=")
      }
    }

    // MARK: Keys

    private func answer() -> ModuleAnswer {
      if question.has("alwaysok") {
        return .fixed(.success, grant: Cause("pamPermits", observed: "pam_u2f.so alwaysok"))
      }
      guard let account = question.account else {
        return question.anything(
          Cause("externalAccount", observed: "the directory user's security keys cannot be seen"))
      }
      do throws(System.Unreadable) {
        guard let line = try mapping(account) else { return withoutKey(account) }
        var answer = ModuleAnswer.proof(of: FactorSet(.token), else: .authenticationError)
        answer.because = [Reason("u2f.mapping", file: path(account), line: line)]
        return answer
      } catch {
        switch error {
        case .missing: return withoutKey(account)
        // pam_u2f too wants a regular file of the right owner.
        case .notRegular, .foreign: return withoutKey(account)
        default: return question.anything(question.unreadable(path(account), error))
        }
      }
    }

    private func withoutKey(_ account: Account) -> ModuleAnswer {
      guard question.has("nouserok") else {
        return ModuleAnswer(
          ways: [.init(needs: .none, codes: [.userUnknown]), .init(needs: .none, codes: [.authenticationUnavailable])])
      }
      return .fixed(
        isSince(Version(1, 3, 1)) ? .ignore : .success,
        grant: Cause("pamSkipsUnenrolled", observed: "pam_u2f.so nouserok, and \(account.name) has no key"))
    }

    private func path(_ account: Account) -> String {
      guard let file = question.value("authfile") else { return "\(account.home)/.config/Yubico/u2f_keys" }
      let expanded = question.has("expand") ? file.substituting("%u", with: account.name) : file
      return Path.join(account.home, expanded)
    }

    /// The line with the account's keys.
    private func mapping(_ account: Account) throws(System.Unreadable) -> Int? {
      let isCentral = question.value("authfile")?.hasPrefix("/") ?? false
      let path = path(account)
      // pam_u2f takes a file of root's as well.
      let file =
        isCentral ? try question.system.read(path) : try question.system.read(path, ownedBy: account.uid, 0)
      if question.value("sshformat") != nil || question.has("sshformat") { return 1 }
      let lines = file.text.lines(keepsEmpty: true)
      return lines.firstIndex { $0.hasPrefix("\(account.name):") && $0.utf8.count > account.name.utf8.count + 1 }
        .map { $0 + 1 }
    }
  }

  /// pam_google_authenticator: a one-time code, for whoever has a secret file.
  struct OneTimeCodeModule {
    private let question: ModuleQuestion

    static let answer: ModuleModels.Model = { question in
      guard question.group == .auth else { return .fixed(.moduleUnknown) }
      return OneTimeCodeModule(question: question).answer()
    }

    private static let largest: Int64 = 64 << 10

    private func answer() -> ModuleAnswer {
      guard let account = question.account else {
        return question.anything(Cause("externalAccount", observed: "the directory user's secret file cannot be seen"))
      }
      let path = path(account)
      do throws(System.Unreadable) {
        let status = try question.system.status(path)
        // What is there and cannot be used is no missing file, which alone `nullok` speaks of.
        guard status.kind == .regular, (1...Self.largest).contains(status.size) else {
          return .fixed(.authenticationError)
        }
        var answer = ModuleAnswer.proof(of: FactorSet(.code), else: .authenticationError)
        answer.because = [Reason("totp.secret", file: path)]
        return answer
      } catch {
        if error == .missing { return withoutSecret }
        return question.anything(question.unreadable(path, error))
      }
    }

    private var withoutSecret: ModuleAnswer {
      guard question.has("nullok") else { return .fixed(.authenticationError) }
      return ModuleAnswer(
        ways: [.init(needs: .none, codes: [.ignore])],
        grant: Cause("pamSkipsUnenrolled", observed: "pam_google_authenticator.so nullok, and there is no secret file"))
    }

    private func path(_ account: Account) -> String {
      let pattern = question.value("secret") ?? "~/.google_authenticator"
      return
        pattern.substituting("${HOME}", with: account.home).substituting("${USER}", with: account.name)
        .substituting("~/", with: "\(account.home)/").substituting("%h", with: account.home)
        .substituting("%u", with: account.name)
    }
  }
}

/// The prints that fprintd keeps.
struct Fingerprints {
  enum Prints {
    case none
    case some(Place)
    case unreadable(Cause)
  }

  private let system: System
  let service: FingerprintService

  init(_ system: System) {
    self.system = system
    service = system.shared { FingerprintService(system) }
  }

  private static let store = "/var/lib/fprint"

  /// Without the service nobody compares a finger with a print.
  static func isInstalled(_ system: System) -> Bool {
    let bus = "share/dbus-1/system-services/net.reactivated.Fprint.service"
    return [
      "/usr/\(bus)", "/usr/local/\(bus)", "/run/current-system/sw/\(bus)", "/usr/libexec/fprintd",
      "/usr/lib/fprintd/fprintd", "/usr/lib/systemd/system/fprintd.service", "/lib/systemd/system/fprintd.service",
      "/etc/systemd/system/fprintd.service",
    ].contains(where: system.exists)
  }

  /// What a person could show here: where the service runs, its readers and its word count, for a reader that keeps its
  /// prints to itself may have lost those that a file is left of.
  func prints(of user: String) -> Prints {
    switch service.readers {
    case .none: return .none
    case .notAsked, .unknown: return Self.isInstalled(system) ? stored(user) : .none
    case .some:
      switch service.fingers(of: user) {
      case .none: return .none
      case .refused: return stored(user)
      case .some:
        if case .some(let place) = stored(user) { return .some(place) }
        return .some(Place("\(Self.store)/\(user)"))
      }
    }
  }

  /// `STORE/USER/DRIVER/DEVICE/FINGER`, a finger being one hexadecimal digit from 1 to a.
  private func stored(_ user: String) -> Prints {
    guard let store = ownStore else { return .none }
    let folder = "\(store)/\(user)"
    do throws(System.Unreadable) {
      for driver in try system.list(folder) {
        for device in (try? system.list("\(folder)/\(driver)")) ?? [] {
          let path = "\(folder)/\(driver)/\(device)"
          let fingers = (try? system.list(path)) ?? []
          if let finger = fingers.first(where: Self.isFinger) { return .some(Place("\(path)/\(finger)")) }
        }
      }
      return .none
    } catch {
      if error == .missing || error == .notRegular { return .none }
      return .unreadable(Cause("unreadable", observed: "\(folder) \(error.words)", evidence: [Place(folder)]))
    }
  }

  /// The directory that the service's unit names; nil where the unit is masked, so that nobody looks at any.
  private var ownStore: String? {
    let startup = system.shared { Startup(system) }
    guard startup.usesUnits, let unit = startup.units.unit("fprintd.service") else { return Self.store }
    if unit.isMasked { return nil }
    let named = unit.values("StateDirectory").flatMap { UnitWords.split($0.value) }.first.map(unit.expand)
    return named.map { "/var/lib/\($0.prefix { $0 != ":" })" } ?? Self.store
  }

  private static func isFinger(_ name: String) -> Bool { name.utf8.count == 1 && "123456789aA".contains(name) }
}

extension String {
  /// Every `text` replaced.
  func substituting(_ text: String, with other: String) -> String {
    var result = ""
    var rest = self[...]
    while let range = rest.range(ofText: text) {
      result += rest[..<range.lowerBound] + other
      rest = rest[range.upperBound...]
    }
    return result + rest
  }
}
