import Posture

extension PAM {
  /// pam_faillock: counts failures, and lets nobody in while there are too many.
  struct FailLock {
    static let answer: ModuleModels.Model = { question in
      if let path = question.value("conf"), let failure = failure(path, question) { return failure }
      let settings = FailLockSettings(question.system, question.arguments)
      if question.group == .account { return .fixed(.success) }
      // Without a word it does what it does before the proof.
      let mode = question.arguments.last { ["preauth", "authfail", "authsucc"].contains($0) } ?? "preauth"
      return answer(question, mode, settings)
    }

    /// Without the file that its line names it does nothing but fail.
    private static func failure(_ path: String, _ question: ModuleQuestion) -> ModuleAnswer? {
      do throws(System.Unreadable) {
        _ = try question.system.read(path)
        return nil
      } catch {
        switch error {
        case .missing: return .fixed(.serviceError)
        // A folder opens like a file that is empty.
        case .notRegular: return path.isEmpty ? .fixed(.serviceError) : nil
        default: return question.anything(question.unreadable(path, error))
        }
      }
    }

    private static func answer(_ question: ModuleQuestion, _ mode: String, _ settings: FailLockSettings)
      -> ModuleAnswer
    {
      if let account = question.account, let place = settings.lock(of: account, question.system) {
        var answer = ModuleAnswer.fixed(.authenticationError)
        answer.because = [Reason("faillock.locked", place)]
        return answer
      }
      if mode == "authfail" { return .fixed(.ignore) }
      return .fixed(
        .success, grant: Cause("pamFilterGrants", observed: "pam_faillock.so \(mode) lets everybody through"))
    }
  }

  /// faillock.conf(5), and the arguments of a line, which win.
  struct FailLockSettings: Sendable {
    var folder = "/var/run/faillock"
    var deny = 3
    /// Seconds; 0: for ever.
    var unlockTime = 600
    var rootUnlockTime: Int?
    /// Seconds in which the failures have to come; nil: whenever they came.
    var interval: Int? = 900
    var deniesRoot = false
    var adminGroup: String?
    /// Where the value of `deny` was read.
    var place: Place?

    init(_ system: System, _ arguments: [String], _ place: Place? = nil) {
      let conf = arguments.last { $0.hasPrefix("conf=") }.map { String($0.dropFirst(5)) }
      let paths = conf.map { [$0] } ?? ["/etc/security/faillock.conf", "/usr/etc/security/faillock.conf"]
      if let path = paths.first(where: system.exists), let text = system.text(path) { read(text, path) }
      for argument in arguments where set(argument) { self.place = place ?? self.place }
    }

    /// The arguments of pam_tally2, which has no file and no bounds but these.
    init(tally2 arguments: [String]) {
      (deny, unlockTime, interval) = (0, 0, nil)
      for argument in arguments { set(argument) }
    }

    @discardableResult
    private mutating func set(_ argument: String) -> Bool {
      let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
      return set(parts.first ?? "", parts.count > 1 ? parts[1] : "")
    }

    private mutating func read(_ text: String, _ path: String) {
      for (index, line) in text.lines(keepsEmpty: true).enumerated() {
        let words = line.prefix { $0 != "#" }.split { $0 == "=" || $0.isWhitespace }
        guard let name = words.first else { continue }
        if set(String(name), words.count > 1 ? String(words[1]) : "") { place = Place(path, line: index + 1) }
      }
    }

    /// True where the option was one that this struct keeps.
    private mutating func set(_ name: String, _ value: String) -> Bool {
      switch name {
      case "dir": if value.hasPrefix("/") { folder = value }
      case "deny": deny = number(value) ?? deny
      case "fail_interval": interval = number(value) ?? interval
      case "unlock_time": unlockTime = value == "never" ? 0 : number(value) ?? unlockTime
      case "root_unlock_time": rootUnlockTime = value == "never" ? 0 : number(value) ?? rootUnlockTime
      case "even_deny_root": deniesRoot = true
      case "admin_group": adminGroup = value
      default: return false
      }
      return true
    }

    private func number(_ text: String) -> Int? {
      Int(text.prefix { $0.isNumber }).flatMap { $0 <= 604_800 ? $0 : nil }
    }

    /// The tally file, where it says that the account is locked now.
    func lock(of account: Account, _ system: System) -> Place? {
      let isAdmin = account.isRoot || (adminGroup.map(account.isMember) ?? false)
      let path = "\(folder)/\(account.name)"
      guard deny > 0, !isAdmin || deniesRoot, let file = try? system.read(path) else { return nil }
      let times = Self.failures(file.bytes)
      guard let latest = times.max(), times.filter({ latest - $0 < interval ?? .max }).count >= deny else { return nil }
      let unlock = isAdmin ? rootUnlockTime ?? unlockTime : unlockTime
      return unlock > 0 && latest + unlock < Int(system.now) ? nil : Place(path)
    }

    /// Times of the failures that count: records of 64 bytes, source 52, reserved 2, status 2, seconds 8.
    private static func failures(_ bytes: [UInt8]) -> [Int] {
      stride(from: 0, to: bytes.count - 63, by: 64).compactMap { start in
        guard bytes[start + 54] & 1 != 0 else { return nil }
        let time = (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[start + 56 + $1]) << (8 * UInt64($1)) }
        return Int(exactly: time).flatMap { $0 < 1 << 40 ? $0 : nil }
      }
    }
  }
}
