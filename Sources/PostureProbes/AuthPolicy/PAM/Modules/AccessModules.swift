import Posture

/// Yes, no, or nil for what cannot be told.
enum Truth {
  static func both(_ left: Bool?, _ right: Bool?) -> Bool? {
    if left == false || right == false { return false }
    return left == nil || right == nil ? nil : true
  }

  static func any(_ values: some Sequence<Bool?>) -> Bool? {
    var result: Bool? = false
    for value in values {
      if value == true { return true }
      if value == nil { result = nil }
    }
    return result
  }
}

extension PAM {
  /// pam_access: access.conf(5), the first rule that matches.
  struct Access {
    private let question: ModuleQuestion

    static let answer: ModuleModels.Model = { Access(question: $0).answer() }

    /// What the rules come to.
    private struct Decision {
      var codes: [Code] = []
      /// Which of them it is depends on the address or terminal alone, which whoever comes may choose.
      var isChosen = true
    }

    private func answer() -> ModuleAnswer {
      var decision = Decision()
      if let file = question.value("accessfile"), file.isEmpty || isMissing(file) { return .fixed(.abort) }
      for path in paths {
        do throws(System.Unreadable) {
          if apply(try question.system.read(path).text, &decision) { return answer(decision) }
        } catch {
          if error != .missing { return question.anything(question.unreadable(path, error)) }
        }
      }
      decision.codes.append(.success)
      return answer(decision)
    }

    /// The module gives up where the file that its line names is not there.
    private func isMissing(_ path: String) -> Bool {
      do throws(System.Unreadable) { _ = try question.system.status(path) } catch { return error == .missing }
      return false
    }

    /// A file that is named stands alone; else the ordinary one, then those of the folder, the vendor's under them.
    private var paths: [String] {
      if let file = question.value("accessfile") { return [file] }
      var byName: [String: String] = [:]
      for folder in ["/usr/etc/security/access.d", "/etc/security/access.d"] {
        let names = (try? question.system.list(folder)) ?? []
        for name in names where name.ends(with: ".conf") { byName[name] = "\(folder)/\(name)" }
      }
      let main = ["/etc/security/access.conf", "/usr/etc/security/access.conf"]
      return [main.first(where: question.system.exists) ?? main[0]]
        + byName.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map(\.value)
    }

    private func answer(_ decision: Decision) -> ModuleAnswer {
      let distinct = decision.codes.reduce(into: [Code]()) { if !$0.contains($1) { $0.append($1) } }
      let grant = Cause("pamFilterGrants", observed: "pam_access.so permits")
      if distinct.count > 1, !decision.isChosen {
        return .oneOf(distinct, Cause("conditionUnknown", observed: "access.conf: cannot be told"))
      }
      return ModuleAnswer(
        ways: distinct.map { .init(needs: .none, codes: [$0]) }, grant: distinct.contains(.success) ? grant : nil)
    }

    /// True once a rule has decided.
    private func apply(_ text: String, _ decision: inout Decision) -> Bool {
      let separators = question.value("listsep") ?? ", \t"
      let colon = question.value("fieldsep")?.first ?? ":"
      // The module passes over a line that does not end.
      let lines = text.lines()
      for line in text.ends(with: "\n") ? lines[...] : lines.dropLast() where !line.hasPrefix("#") {
        let parts = withoutTail(line).split(separator: colon, maxSplits: 2)
        guard parts.count == 3, let sign = parts[0].first, sign == "+" || sign == "-" else { continue }
        let code: Code = sign == "+" ? .success : .permissionDenied
        let lists = parts[1...].map { part in part.split { separators.contains($0) }.map(String.init) }
        let isMeant = list(lists[0], isUser)
        guard isMeant != false else { continue }
        let isHere = list(lists[1], isOrigin)
        switch Truth.both(isMeant, isHere) {
        case true?:
          decision.codes.append(code)
          return true
        case nil:
          decision.codes.append(code)
          let dependsOnGroups = lists[1].contains { $0.hasPrefix("@") }
          if isMeant == nil || dependsOnGroups { decision.isChosen = false }
        case false?: continue
        }
      }
      return false
    }

    private func withoutTail(_ line: Substring) -> Substring {
      var line = line
      while line.last?.isWhitespace ?? false { line.removeLast() }
      return line
    }

    private func list(_ words: [String], _ matches: (String) -> Bool?) -> Bool? {
      guard let except = words.firstIndex(where: { ASCII.lowercased($0) == "except" }) else {
        return Truth.any(words.map(matches))
      }
      let excepted = list(Array(words[(except + 1)...]), matches).map { !$0 }
      return Truth.both(Truth.any(words[..<except].map(matches)), excepted)
    }

    private func isUser(_ word: String) -> Bool? {
      if ASCII.lowercased(word) == "all" { return true }
      guard let account = question.account else { return nil }
      if word.hasPrefix("("), word.ends(with: ")"), word.utf8.count > 2 {
        return isMember(account, String(word.dropFirst().dropLast()))
      }
      let bare = word.drop { $0 == "@" }
      // `user@host` asks which host this one is.
      if let at = bare.firstIndex(of: "@") {
        return isUser(String(word[..<at])) == false ? false : nil
      }
      if word.hasPrefix("@@") { return nil }
      if word.hasPrefix("@") { return question.accounts.netgroups.contains(String(bare), user: account.name) }
      if ASCII.lowercased(word) == ASCII.lowercased(account.name) { return true }
      if knowsNumbers, UInt32(word) == account.uid { return true }
      return !question.has("nodefgroup") && account.isMember(of: word)
    }

    private func isMember(_ account: Account, _ group: String) -> Bool {
      account.isMember(of: group) || (knowsNumbers && UInt32(group) == account.gid)
    }

    /// Since 1.7.0 numbers stand for users and groups.
    private var knowsNumbers: Bool { question.pam.version.map { $0 >= Version(1, 7) } ?? true }

    private func isOrigin(_ word: String) -> Bool? {
      let lower = ASCII.lowercased(word)
      if lower == "all" { return true }
      if lower == "local" { return !question.call.isRemote }
      if word.hasPrefix("@") {
        let hosts = question.accounts.netgroups.contains(String(word.dropFirst()))
        return hosts == false ? false : nil
      }
      if question.call.isRemote { return nil }
      if let terminal = question.call.terminal { return lower == ASCII.lowercased(terminal) }
      // Where it is not known, whoever comes chooses one, or none, and then the service is the origin.
      return Self.isTerminal(lower) || lower == PAM.serviceName(question.call.service) ? nil : false
    }

    private static func isTerminal(_ name: String) -> Bool {
      if ["tty", "pts/", "hvc", "lxc/", "vc/"].contains(where: name.hasPrefix) || name == "console" { return true }
      return name.hasPrefix(":") && name.dropFirst().first?.isNumber == true
    }
  }
}
