import Posture

extension PAM {
  /// pam_time: hours at which a service may be used. A door that is open at some hours is judged as it is then.
  struct TimeLimits {
    private let question: ModuleQuestion

    static let answer: ModuleModels.Model = { question in
      guard question.group == .account else { return .fixed(.moduleUnknown) }
      return TimeLimits(question: question).answer()
    }

    /// A rule that concerns this call: whether it surely does, and the times it allows.
    private struct Rule {
      var isSure: Bool
      var times: LogicField
    }

    private func answer() -> ModuleAnswer {
      let usual = ["/etc/security/time.conf", "/usr/etc/security/time.conf"]
      let path = question.value("conffile") ?? usual.first(where: question.system.exists) ?? usual[0]
      do throws(System.Unreadable) {
        let rules = rules(try question.system.read(path).text)
        if !Self.isEverOpen(rules.filter(\.isSure)) { return .fixed(.permissionDenied) }
        guard !Self.isEverOpen(rules) else { return .fixed(.success) }
        return .oneOf(
          [.success, .permissionDenied], Cause("conditionUnknown", observed: "\(path): cannot be told"))
      } catch {
        return error == .missing ? .fixed(.success) : question.anything(question.unreadable(path, error))
      }
    }

    private func rules(_ text: String) -> [Rule] {
      LogicalLines(text, comments: []).compactMap { line in
        let fields = line.text.prefix { $0 != "#" }.split(separator: ";", omittingEmptySubsequences: false).map(
          \.trimmed)
        guard fields.count == 4, let isMeant = isMeant(fields) else { return nil }
        return isMeant == .no ? nil : Rule(isSure: isMeant == .yes, times: LogicField(fields[3]))
      }
    }

    private enum Meant { case yes, perhaps, no }

    private func isMeant(_ fields: [String]) -> Meant? {
      let service = PAM.serviceName(question.call.service)
      let answers = [
        LogicField(fields[0]).holds { Self.isSame(service, $0) },
        LogicField(fields[1]).holds { pattern in
          pattern == "*" ? true : terminal.map { Self.isSame($0, pattern) }
        },
        isUser(fields[2]),
      ]
      if answers.contains(false) { return .no }
      return answers.contains(nil) ? .perhaps : .yes
    }

    private var terminal: String? {
      question.call.terminal.map { $0.hasPrefix("/dev/") ? String($0.dropFirst(5)) : $0 }
    }

    private func isUser(_ field: String) -> Bool? {
      guard let name = question.account?.name else { return field == "*" ? true : nil }
      if field.hasPrefix("@") { return question.accounts.netgroups.contains(String(field.dropFirst()), user: name) }
      return LogicField(field).holds { Self.isSame(name, $0) }
    }

    /// One `*` stands for anything.
    private static func isSame(_ name: String, _ pattern: String) -> Bool {
      guard let star = pattern.firstIndex(of: "*") else { return name == pattern }
      let tail = pattern[pattern.index(after: star)...]
      return name.hasPrefix(pattern[..<star]) && name.ends(with: tail)
    }

    /// Whether any minute of the week is within what all these rules allow.
    private static func isEverOpen(_ rules: [Rule]) -> Bool {
      guard !rules.isEmpty else { return true }
      for day in 0..<7 {
        for hour in 0..<24 {
          for minute in 0..<60 {
            let now = WeekTime(day: 1 << day, clock: hour * 100 + minute)
            if rules.allSatisfy({ $0.times.holds(now.isWithin) == true }) { return true }
          }
        }
      }
      return false
    }
  }

  /// A moment of the week as pam_time reckons: a bit for the day, Sunday first, and hours times 100 plus minutes.
  struct WeekTime {
    let day: Int
    let clock: Int

    private static let days = [
      "su": 0o1, "mo": 0o2, "tu": 0o4, "we": 0o10, "th": 0o20, "fr": 0o40, "sa": 0o100, "wk": 0o76, "wd": 0o101,
      "al": 0o177,
    ]

    /// Whether this is within `MoTu0800-1800`. A range without hours is taken for always, one without days for never.
    func isWithin(_ range: String) -> Bool {
      var rest = Array(ASCII.lowercased(range).utf8)[...]
      var marked = 0
      while let first = rest.first, !ASCII.isDigit(first), rest.count >= 2 {
        guard let bit = Self.days[String(decoding: rest.prefix(2), as: UTF8.self)] else { return false }
        marked ^= bit
        rest = rest.dropFirst(2)
      }
      guard marked != 0 else { return false }
      let parts = rest.split(separator: UInt8(ascii: "-"))
      guard parts.count == 2, parts[0].count <= 4, parts[1].count == 4,
        let start = Int(String(decoding: parts[0], as: UTF8.self)),
        let end = Int(String(decoding: parts[1], as: UTF8.self))
      else { return true }
      if start < end { return day & marked != 0 && clock >= start && clock < end }
      let before = marked << 1 | (marked >> 6 & 1)
      return (day & marked != 0 && clock >= start) || (day & before != 0 && clock <= end)
    }
  }

  /// `a | b & !c`, from left to right, as pam_time and pam_group read it.
  struct LogicField {
    private let terms: [(word: String, isNegated: Bool, isAnd: Bool)]
    private let isGarbled: Bool

    init(_ text: String) {
      var terms: [(word: String, isNegated: Bool, isAnd: Bool)] = []
      var rest = Array(text.utf8)[...]
      var isNegated = false
      var isAnd = false
      var wantsWord = true
      var isGarbled = false
      while let byte = rest.first, !isGarbled {
        switch byte {
        case UInt8(ascii: "!") where wantsWord: isNegated.toggle()
        case UInt8(ascii: "&") where !wantsWord, UInt8(ascii: "|") where !wantsWord:
          (isAnd, wantsWord, isNegated) = (byte == UInt8(ascii: "&"), true, false)
        case _ where Self.isPart(byte):
          guard wantsWord else {
            isGarbled = true
            continue
          }
          let word = rest.prefix(while: Self.isPart)
          terms.append((String(decoding: word, as: UTF8.self), isNegated, isAnd))
          wantsWord = false
          rest = rest.dropFirst(word.count)
          continue
        case UInt8(ascii: "!"), UInt8(ascii: "&"), UInt8(ascii: "|"): isGarbled = true
        default: break
        }
        rest = rest.dropFirst()
      }
      self.terms = terms
      self.isGarbled = isGarbled
    }

    private static func isPart(_ byte: UInt8) -> Bool { ASCII.isAlphanumeric(byte) || "*_-./:".utf8.contains(byte) }

    /// A field that cannot be read holds for nothing.
    func holds(_ agrees: (String) -> Bool?) -> Bool? {
      if isGarbled { return false }
      return terms.reduce(false as Bool?) { left, term in
        let right = agrees(term.word).map { $0 != term.isNegated }
        return term.isAnd ? Truth.both(left, right) : Truth.any([left, right])
      }
    }
  }
}
