import Posture

/// The rules of polkit(8) in the order in which it asks them.
struct PolkitRules: Sendable {
  struct Rule: Sendable {
    var isAboutAdministrators: Bool
    /// nil: its text is beyond the part of JavaScript that is read here.
    var function: PolkitScript.Function?
    var globals: [String: PolkitValue]
    /// Every text literal within.
    var literals: [String]
    /// Its text holds a result that asks for less than an administrator.
    var mayEase: Bool
    var place: Place
    /// From the directory of packages.
    var isVendor: Bool

    /// Whether lists have `includes`, which ECMAScript 5 does not know.
    var listsInclude = true

    /// It asks the local authority, as the package does that brings .pkla files back.
    var asksAuthority: Bool {
      let program = isAboutAdministrators ? "/pkla-admin-identities" : "/pkla-check-authorization"
      return literals.contains { $0.ends(with: program) }
    }

    /// What it may return: `nothing` where it leaves the answer to others.
    func results(_ question: PolkitEvaluator.Question) -> Set<PolkitValue> {
      guard let function else { return mayEase ? [.unknown, .nothing] : [.nothing] }
      var evaluator = PolkitEvaluator(question, globals: globals, listsInclude: listsInclude)
      let results = evaluator.results(of: function)
      // What is not read of a text that eases nothing leaves the answer to others, as far as anybody gets in by it.
      guard function.isGuessed, !mayEase, !isAboutAdministrators, results.contains(.unknown) else { return results }
      return results.subtracting([.unknown]).union([.nothing])
    }

    /// Whether it may answer about this action where one of the questions is asked.
    func decides(_ action: String, _ questions: [PolkitEvaluator.Question]) -> Bool {
      questions.contains { question in
        var question = question
        question.action = action
        return results(question) != [.nothing]
      }
    }
  }

  private(set) var rules: [Rule] = []
  /// Directories and files that this process may not read.
  private(set) var unreadable: [Cause] = []

  /// Strongest first among files of one name.
  static let folders = [
    "/etc/polkit-1/rules.d", "/run/polkit-1/rules.d", "/usr/local/share/polkit-1/rules.d",
    "/usr/share/polkit-1/rules.d",
  ]

  init(_ system: System) {
    guard !PolkitAuthority.isKnownAlone(on: system) else { return }
    var files: [(name: String, rank: Int)] = []
    for (rank, folder) in Self.folders.enumerated() {
      do throws(System.Unreadable) {
        files += try system.list(folder).filter { $0.ends(with: ".rules") }.map { ($0, rank) }
      } catch {
        if error != .missing { note(folder, error) }
      }
    }
    for file in files.sorted(by: { ($0.name, $0.rank) < ($1.name, $1.rank) }) {
      add("\(Self.folders[file.rank])/\(file.name)", isVendor: file.rank == Self.folders.count - 1, system)
    }
  }

  private mutating func note(_ path: String, _ error: System.Unreadable) {
    unreadable.append(Cause("unreadable", observed: "\(path) \(error.words)", evidence: [Place(path)]))
  }

  private mutating func add(_ path: String, isVendor: Bool, _ system: System) {
    let file: System.File
    do throws(System.Unreadable) { file = try system.read(path) } catch {
      // A link to /dev/null switches a file off.
      if error != .missing, error != .notRegular { note(path, error) }
      return
    }
    // polkitd reports an error of syntax and goes on without the file.
    guard let tokens = PolkitTokens.read(file.bytes) else { return }
    let isBeyondES5 = PolkitTokens.areBeyondES5(tokens)
    let isES5 = (isBeyondES5 || tokens.contains { $0.token == .name("includes") }) && PolkitEngine.of(system).isDuktape
    guard !(isES5 && isBeyondES5) else { return }
    var found = PolkitRuleFile.rules(of: tokens, path, isVendor: isVendor)
    for index in found.indices { found[index].listsInclude = !isES5 }
    rules += found
  }

  // MARK: Answers

  /// What the rules may answer about an action: `nothing` where none decides; and the last rule that had a say.
  /// `authority` is the word of the local authority, for a rule that asks it.
  func results(
    _ question: PolkitEvaluator.Question, vendorOnly: Bool = false, authority: () -> PolkitAuthority.Answer?
  ) -> (Set<PolkitValue>, Place?) {
    var results: Set<PolkitValue> = []
    var place: Place?
    for rule in rules where !rule.isAboutAdministrators && !(vendorOnly && !rule.isVendor) {
      let said = rule.asksAuthority ? authority() : nil
      let found = rule.asksAuthority ? [Self.value(of: said)] : rule.results(question)
      if found != [.nothing] { place = said?.place ?? rule.place }
      results.formUnion(found.subtracting([.nothing]))
      if !found.contains(.nothing) { return (results, place) }
    }
    results.insert(.nothing)
    return (results, place)
  }

  private static func value(of said: PolkitAuthority.Answer?) -> PolkitValue {
    guard let said else { return .nothing }
    return said.demand.map { .text($0.word) } ?? .unknown
  }

  /// The identities that count as administrators (`unix-group:sudo`): nil where the rules cannot be told, empty where
  /// none names any. `authority` names those of the local authority, for a rule that asks it.
  func administrators(
    _ question: PolkitEvaluator.Question, authority: PolkitAuthority.Administrators?
  ) -> (identities: [String]?, place: Place?) {
    for rule in rules where rule.isAboutAdministrators {
      if rule.asksAuthority {
        if let authority { return authority }
        continue
      }
      guard rule.function != nil else { return (nil, rule.place) }
      let results = rule.results(question)
      if results == [.nothing] { continue }
      guard results.count == 1, case .list(let items) = results.first else { return (nil, rule.place) }
      let names = items.compactMap { item -> String? in
        if case .text(let text) = item { text } else { nil }
      }
      return (names.count == items.count ? names : nil, rule.place)
    }
    return ([], nil)
  }
}
