import Posture

/// Files of public keys that let somebody in (sshd(8), "AUTHORIZED_KEYS FILE FORMAT").
struct AuthorizedKeys: Sendable {
  /// What a file holds.
  struct Content: Hashable, Sendable {
    /// The first line with a key that is accepted.
    var key: Place?
    /// … with a forced command.
    var forced: Place?
    /// The first line with the key of an authority for certificates.
    var authority: Place?
  }

  private let system: System
  private let account: Account
  private let isStrict: Bool
  private let algorithms: SSHDAlgorithms

  /// With `isStrict` files that others may write are passed over (StrictModes).
  init(_ system: System, _ account: Account, isStrict: Bool, algorithms: SSHDAlgorithms = SSHDAlgorithms()) {
    self.algorithms = algorithms
    self.system = system
    self.account = account
    self.isStrict = isStrict
  }

  /// The path behind the tokens of AuthorizedKeysFile.
  func path(_ pattern: String) -> String {
    var result = ""
    var rest = pattern[...]
    while let character = rest.popFirst() {
      guard character == "%", let token = rest.popFirst() else {
        result.append(character)
        continue
      }
      switch token {
      case "h": result += account.home
      case "u": result += account.name
      case "U": result += String(account.uid)
      default: result.append(token)
      }
    }
    return result.hasPrefix("/") ? result : account.home + "/" + result
  }

  /// What the files hold together; `unknown` where one may not be read.
  func content(_ paths: [String]) -> (content: Content, isUnknown: Bool) {
    var result = Content()
    var isUnknown = false
    for path in paths {
      do throws(System.Unreadable) {
        let file = try system.read(path)
        guard !isStrict || isSafe(path, file) else { continue }
        add(file.text, path, to: &result)
      } catch {
        if error == .denied { isUnknown = true }
      }
    }
    return (result, isUnknown)
  }

  /// The file and every directory up to the home (or the root) belong to the person or to root, and nobody else writes.
  private func isSafe(_ path: String, _ file: System.File) -> Bool {
    guard isOurs(file.owner, file.mode) else { return false }
    var folder = path
    while let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
      folder = String(folder[..<slash])
      guard let status = try? system.status(folder), isOurs(status.owner, status.mode) else { return false }
      if folder == account.home { return true }
    }
    return true
  }

  private func isOurs(_ owner: UInt32, _ mode: UInt32) -> Bool {
    (owner == 0 || owner == account.uid) && mode & 0o022 == 0
  }

  // MARK: Lines

  private func add(_ text: String, _ path: String, to result: inout Content) {
    for (index, line) in text.lines(keepsEmpty: true).enumerated() {
      guard let entry = Entry(line), !entry.isExpired(now: system.now), algorithms.accept(entry.type) else { continue }
      let place = Place(path, line: index + 1)
      if entry.isAuthority {
        result.authority = result.authority ?? place
      } else {
        result.key = result.key ?? place
        if entry.isForced { result.forced = result.forced ?? place }
      }
    }
  }

  /// One line: options, type, key.
  struct Entry: Hashable, Sendable {
    let options: [String]
    let type: String

    init?(_ line: Substring) {
      let text = line.trimmed
      guard let first = text.first, first != "#" else { return nil }
      let words = Self.fields(text)
      guard let index = words.prefix(2).firstIndex(where: { Self.types.contains($0) }), index + 1 < words.count,
        Self.isKey(words[index + 1], of: words[index])
      else { return nil }
      type = words[index]
      options = index == 0 ? [] : Self.split(words[0], at: ",")
    }

    private static let types: Set = [
      "ssh-rsa", "ssh-dss", "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
      "sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", "rsa-sha2-256", "rsa-sha2-512",
    ]

    /// Base64 of a good length.
    private static func isKey(_ text: String, of type: String) -> Bool {
      text.utf8.count >= 40 && text.hasPrefix("AAAA")
        && text.utf8.allSatisfy { byte in
          Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber
            || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "=")
        }
    }

    private static func fields(_ text: String) -> [String] {
      split(text, at: " ").flatMap { split($0, at: "\t") }.filter { !$0.isEmpty }
    }

    /// Quotes hold what they enclose together.
    private static func split(_ text: String, at separator: Character) -> [String] {
      var parts = [""]
      var isQuoted = false
      for character in text {
        if character == "\"" { isQuoted.toggle() }
        if character == separator, !isQuoted { parts.append("") } else { parts[parts.count - 1].append(character) }
      }
      return parts
    }

    var isAuthority: Bool { options.contains { $0.lowercased() == "cert-authority" } }
    var isForced: Bool { options.contains { $0.lowercased().hasPrefix("command=") } }

    /// `expiry-time="YYYYMMDD[HHMM[SS]][Z]"`; local times are taken for UTC.
    func isExpired(now: Int64) -> Bool {
      guard let option = options.first(where: { $0.lowercased().hasPrefix("expiry-time=") }) else { return false }
      let digits = option.filter(\.isNumber)
      guard digits.count >= 8 else { return false }
      let padded = String((digits + "000000").prefix(14))
      return padded < CalendarTime.text(now)
    }
  }
}
