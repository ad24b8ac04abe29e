import Posture

extension PAM {
  /// pam_access: access.conf(5), the first rule that matches.
  struct Access {
    private let question: ModuleQuestion

    static let answer: ModuleModels.Model = { Access(question: $0).answer() }

    private func answer() -> ModuleAnswer {
      let path = question.value("accessfile") ?? "/etc/security/access.conf"
      var paths = [path]
      if question.value("accessfile") == nil {
        let names = (try? question.system.list("/etc/security/access.d")) ?? []
        paths += names.filter { $0.hasSuffix(".conf") }.map { "/etc/security/access.d/\($0)" }
      }
      var codes: [Code] = []
      for path in paths {
        do throws(System.Unreadable) {
          if apply(try question.system.read(path).text, &codes) { return answer(codes) }
        } catch {
          if error != .missing { return question.anything(question.unreadable(path, error)) }
        }
      }
      return answer(codes + [.success])
    }

    private func answer(_ codes: [Code]) -> ModuleAnswer {
      let distinct = codes.reduce(into: [Code]()) { if !$0.contains($1) { $0.append($1) } }
      guard distinct.count == 1 else {
        return .oneOf(distinct, Cause("conditionUnknown", observed: "access.conf: cannot be told"))
      }
      return .fixed(
        distinct[0],
        grant: distinct[0] == .success ? Cause("pamFilterGrants", observed: "pam_access.so permits") : nil)
    }

    /// True once a rule has decided.
    private func apply(_ text: String, _ codes: inout [Code]) -> Bool {
      for line in text.split(separator: "\n") where !line.hasPrefix("#") {
        let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map {
          $0.split { $0 == " " || $0 == "\t" || $0 == "," }.map(String.init)
        }
        guard fields.count == 3, let sign = fields[0].first, sign == "+" || sign == "-" else { continue }
        let code: Code = sign == "+" ? .success : .permissionDenied
        switch both(list(fields[1], isUser), list(fields[2], isOrigin)) {
        case true?:
          codes.append(code)
          return true
        case nil: codes.append(code)
        case false?: continue
        }
      }
      return false
    }

    /// nil: cannot be told.
    private func both(_ left: Bool?, _ right: Bool?) -> Bool? {
      if left == false || right == false { return false }
      return left == nil || right == nil ? nil : true
    }

    private func list(_ words: [String], _ matches: (String) -> Bool?) -> Bool? {
      guard let except = words.firstIndex(where: { ASCII.lowercased($0) == "except" }) else {
        return any(words, matches)
      }
      let excepted = list(Array(words[(except + 1)...]), matches).map { !$0 }
      return both(any(Array(words[..<except]), matches), excepted)
    }

    private func any(_ words: [String], _ matches: (String) -> Bool?) -> Bool? {
      let found = words.map(matches)
      if found.contains(true) { return true }
      return found.contains(nil) ? nil : false
    }

    private func isUser(_ word: String) -> Bool? {
      if ASCII.lowercased(word) == "all" { return true }
      guard let account = question.account else { return nil }
      if word.hasPrefix("@") || (word.contains("@") && word.hasPrefix(account.name)) { return nil }
      if word.hasPrefix("("), word.hasSuffix(")") { return account.isMember(of: String(word.dropFirst().dropLast())) }
      return word == account.name || (!question.has("nodefgroup") && account.isMember(of: word))
    }

    private func isOrigin(_ word: String) -> Bool? {
      switch ASCII.lowercased(word) {
      case "all": return true
      case "local": return !question.call.isRemote
      case "none": return question.call.isRemote ? false : nil
      default: break
      }
      if question.call.isRemote { return nil }
      if let terminal = question.call.terminal { return word == terminal }
      // A terminal or a service; hosts and networks have a dot, a colon or a slash.
      return word == question.call.service ? true : word.contains { ".:/@".contains($0) } ? false : nil
    }
  }

  /// pam_time: hours at which a service may be used. A door that is open at some hours is judged as it is then.
  struct TimeLimits {
    private let question: ModuleQuestion

    static let answer: ModuleModels.Model = { question in
      guard question.group == .account else { return .fixed(.moduleUnknown) }
      return TimeLimits(question: question).answer()
    }

    private func answer() -> ModuleAnswer {
      let path = question.value("conffile") ?? "/etc/security/time.conf"
      do throws(System.Unreadable) {
        return .fixed(isNever(try question.system.read(path).text) ? .permissionDenied : .success)
      } catch {
        return error == .missing ? .fixed(.success) : question.anything(question.unreadable(path, error))
      }
    }

    private func isNever(_ text: String) -> Bool {
      for line in text.split(separator: "\n") {
        let fields = line.prefix { $0 != "#" }.split(separator: ";", omittingEmptySubsequences: false).map {
          String($0.filter { !$0.isWhitespace })
        }
        guard fields.count == 4, let user = question.account?.name else { continue }
        guard matches(fields[0], PAM.serviceName(question.call.service)), fields[1] == "*", matches(fields[2], user)
        else { continue }
        if fields[3] == "!Al0000-2400" { return true }
      }
      return false
    }

    /// A list of patterns with `|`, each perhaps negated; `&` is not looked into and matches nothing.
    private func matches(_ list: String, _ name: String) -> Bool {
      list.split(separator: "|").contains { item in
        let isNegated = item.hasPrefix("!")
        let pattern = isNegated ? item.dropFirst() : item
        let holds =
          pattern.hasSuffix("*") ? name.hasPrefix(pattern.dropLast()) : pattern.elementsEqual(name)
        return holds != isNegated
      }
    }
  }
}
