/// Command lines as getopt_long(3) reads them: options anywhere before "--", long ones by unambiguous prefix.
struct OptionReader {
  enum Argument { case none, required, optional }

  struct Option: Hashable {
    /// Its short letter, or its long name where it has no letter.
    var name: String
    var value: String?
  }

  private let short: [Character: Argument]
  private let long: [String: (letter: String, argument: Argument)]

  /// `short` as for getopt: "a:L::n"; `long` names with the letter they stand for and an argument like that letter's.
  init(_ short: String, long: [String: String]) {
    var letters: [Character: Argument] = [:]
    var rest = short[...]
    while let letter = rest.popFirst() {
      let colons = rest.prefix { $0 == ":" }.count
      rest = rest.dropFirst(colons)
      letters[letter] = colons == 0 ? Argument.none : colons == 1 ? .required : .optional
    }
    self.short = letters
    self.long = long.mapValues { letter in (letter, letters[Character(letter.prefix(1).description)] ?? .none) }
  }

  func read(_ words: [String]) -> (options: [Option], operands: [String]) {
    var options: [Option] = []
    var operands: [String] = []
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" { return (options, operands + rest) }
      if word.hasPrefix("--") {
        options.append(readLong(word.dropFirst(2), &rest))
      } else if word.hasPrefix("-"), word.count > 1 {
        options += readShort(word.dropFirst(), &rest)
      } else {
        operands.append(word)
      }
    }
    return (options, operands)
  }

  private func readLong(_ word: Substring, _ rest: inout ArraySlice<String>) -> Option {
    let name = String(word.prefix { $0 != "=" })
    let attached = word.firstIndex(of: "=").map { String(word[word.index(after: $0)...]) }
    let matches = long.keys.filter { $0.hasPrefix(name) }
    guard let found = long[name] ?? (matches.count == 1 ? long[matches[0]] : nil) else {
      return Option(name: name, value: attached)
    }
    let value = attached ?? (found.argument == .required ? rest.popFirst() : nil)
    return Option(name: found.letter, value: value)
  }

  private func readShort(_ cluster: Substring, _ rest: inout ArraySlice<String>) -> [Option] {
    var options: [Option] = []
    var letters = cluster
    while let letter = letters.popFirst() {
      switch short[letter] ?? .none {
      case .none: options.append(Option(name: String(letter), value: nil))
      case .optional:
        options.append(Option(name: String(letter), value: letters.isEmpty ? nil : String(letters)))
        letters = ""
      case .required:
        options.append(Option(name: String(letter), value: letters.isEmpty ? rest.popFirst() : String(letters)))
        letters = ""
      }
    }
    return options
  }
}

/// The options of agetty(8) that decide who is asked what. BusyBox getty's are among them.
struct GettyOptions: Hashable {
  /// -a: the name that needs no typing.
  var autologin: String?
  /// -l
  var program = "/bin/login"
  /// -o: all that the login program is given, instead of what agetty would say.
  var loginOptions: String?
  /// -n: no name is asked for.
  var skipsPrompt = false
  /// The terminal that is named, where one is.
  var terminal: String?

  private static let reader = OptionReader(
    "8a:cC:d:Ef:hH:iI:Jl:L::mnNo:pP:r:Rst:Uw",
    long: [
      "8bits": "8", "autologin": "a", "noreset": "c", "chdir": "C", "delay": "d", "remote": "E", "issue-file": "f",
      "flow-control": "h", "host": "H", "noissue": "i", "init-string": "I", "noclear": "J", "login-program": "l",
      "local-line": "L", "extract-baud": "m", "skip-login": "n", "nonewline": "N", "login-options": "o",
      "login-pause": "p", "nice": "P", "chroot": "r", "hangup": "R", "keep-baud": "s", "timeout": "t",
      "detect-case": "U", "wait-cr": "w", "nohints": "nohints", "nohostname": "nohostname",
      "long-hostname": "long-hostname", "show-issue": "show-issue", "list-speeds": "list-speeds", "reload": "reload",
    ])

  init(_ arguments: [String]) {
    let (options, operands) = Self.reader.read(arguments)
    for option in options {
      switch option.name {
      case "a": autologin = option.value
      case "l": program = option.value ?? program
      case "o": loginOptions = option.value
      case "n": skipsPrompt = true
      default: break
      }
    }
    terminal = operands.first {
      !$0.isEmpty && $0 != "-" && $0.first?.isNumber != true && !$0.hasPrefix("$") && !UnknownText.isIn($0)
    }
  }

  /// What stands for the name that somebody types, in ``loginArguments``.
  static let typedName = "\\u"

  /// The arguments of the login program, as agetty makes them.
  var loginArguments: [String] {
    let name = autologin ?? (skipsPrompt ? nil : Self.typedName)
    if let loginOptions {
      return loginOptions.split { $0 == " " || $0 == "\t" }
        .map { String($0).substituting(Self.typedName, with: name ?? "") }.filter { !$0.isEmpty }
    }
    guard let name else { return [] }
    return (autologin == nil ? [] : ["-f"]) + ["--", name]
  }
}

/// The options of login(1), of util-linux, shadow and BusyBox.
struct LoginOptions: Hashable {
  /// -f
  var skipsAuthentication = false
  /// The name that is given.
  var user: String?

  init(_ arguments: [String]) {
    var rest = arguments[...]
    while let word = rest.popFirst() {
      if word == "--" {
        user = user ?? rest.first
        return
      }
      guard word.hasPrefix("-"), word.count > 1 else {
        user = user ?? word
        continue
      }
      var letters = word.dropFirst()
      while let letter = letters.popFirst() {
        if letter == "f" { readForce(&letters) }
        // The remote host's name is an argument of its own.
        if letter == "h" || letter == "r" {
          if letters.isEmpty { _ = rest.popFirst() }
          letters = ""
        }
      }
    }
  }

  /// "-fUSER" is a name, "-fp" two letters.
  private mutating func readForce(_ letters: inout Substring) {
    skipsAuthentication = true
    guard !letters.isEmpty, !letters.allSatisfy({ "fpH".contains($0) }) else { return }
    user = String(letters)
    letters = ""
  }
}
