import Posture

extension PAM {
  /// pam_listfile: whether an item stands in a file.
  struct ListFile {
    private let question: ModuleQuestion
    private let options: Options

    static let answer: ModuleModels.Model = { ListFile($0).answer() }

    private init(_ question: ModuleQuestion) {
      self.question = question
      options = Options(question.arguments)
    }

    /// The arguments, in their order: the first mistake decides, by what `onerr` was until then.
    private struct Options {
      private static let items: Set<String> = ["user", "tty", "rhost", "ruser", "group", "shell"]

      private(set) var file = ""
      private(set) var item = ""
      private(set) var isDenial: Bool?
      private(set) var apply: String?
      private(set) var onError = Code.serviceError
      /// What a mistake in the arguments returns.
      private(set) var fault: Code?

      init(_ arguments: [String]) {
        for argument in arguments {
          let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
          if parts.count == 2 { set(parts[0], parts[1]) }
        }
        let isMeant = apply.map { !$0.isEmpty && $0 != "@" } ?? true
        if file.isEmpty || !Self.items.contains(item) || isDenial == nil || !isMeant { note(onError) }
        // Who a user is and what belongs to one is the same for whomever it applies to.
        if !["tty", "rhost"].contains(item) { apply = nil }
      }

      private mutating func set(_ name: String, _ value: String) {
        switch (name, value) {
        case ("onerr", "succeed"): onError = .success
        case ("onerr", "fail"): onError = .serviceError
        case ("onerr", _): note(.serviceError)
        case ("sense", "allow"): isDenial = false
        case ("sense", "deny"): isDenial = true
        case ("file", _): file = value
        case ("item", _): item = value
        case ("apply", _): apply = value
        default: note(onError)
        }
      }

      private mutating func note(_ code: Code) { fault = fault ?? code }
    }

    private func answer() -> ModuleAnswer {
      if let fault = options.fault { return filter(fault) }
      if let apply = options.apply, !applies(to: apply) { return .fixed(.ignore) }
      guard options.file.hasPrefix("/") else {
        return question.anything(
          Cause("conditionUnknown", observed: "\(options.file): what folder the program is in cannot be told"))
      }
      // A link is no regular file to the module.
      if question.system.link(options.file) != nil { return .fixed(.authenticationError) }
      do throws(System.Unreadable) {
        let file = try question.system.read(options.file)
        if file.isWritableByOthers { return .fixed(.authenticationError) }
        guard let isListed = isListed(file.text) else {
          return .oneOf(
            [.success, .authenticationError],
            Cause("conditionUnknown", observed: "pam_listfile.so item=\(options.item): cannot be told"))
        }
        return filter(isListed != options.isDenial ? .success : .authenticationError)
      } catch {
        switch error {
        case .missing: return filter(options.onError)
        case .notRegular: return .fixed(.authenticationError)
        default: return question.anything(question.unreadable(options.file, error))
        }
      }
    }

    private func filter(_ code: Code) -> ModuleAnswer {
      let words = question.arguments.joined(separator: " ")
      return .fixed(
        code, grant: code == .success ? Cause("pamFilterGrants", observed: "pam_listfile.so \(words)") : nil)
    }

    private func applies(to apply: String) -> Bool {
      guard let account = question.account else { return true }
      return apply.hasPrefix("@") ? account.isMember(of: String(apply.dropFirst())) : apply == account.name
    }

    private func isListed(_ text: String) -> Bool? {
      let lines = text.lines().map { line in String(line.prefix { $0 != "\r" }) }.filter { !$0.isEmpty }
      switch options.item {
      case "user": return question.account.map { lines.contains($0.name) }
      case "ruser": return lines.contains(question.call.caller ?? "")
      case "group": return question.account.map { lines.contains(where: $0.isMember) }
      case "shell": return question.account.map { lines.contains($0.shell) }
      case "tty":
        return question.call.terminal.map { lines.map(Self.terminal).contains(Self.terminal($0)) }
      default: return question.call.isRemote ? nil : false
      }
    }

    private static func terminal(_ name: String) -> String {
      name.hasPrefix("/dev/") ? String(name.dropFirst(5)) : name
    }
  }
}
