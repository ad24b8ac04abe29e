/// The commands of a small shell script, with variables and arguments put in: enough to see which getty it ends in.
/// Conditions are not judged: every command counts.
struct ShellScript {
  struct Command: Hashable {
    var words: [String]
    var isExec: Bool
    var isLast: Bool
  }

  let commands: [Command]

  /// With `files`, what the script does not tell is ``UnknownText``, and `$(cat FILE)` is the file's text; without, both
  /// are nothing.
  init(
    _ text: String, _ arguments: [String], variables: [String: String] = [:], files: ((String) -> String?)? = nil
  ) {
    var reader = Reader(arguments: arguments, variables: variables, files: files)
    // A start script is short; whatever is longer is none.
    for line in LogicalLines(text, comments: ["#"]).prefix(2_000) { reader.read(line.text) }
    var commands = reader.commands
    if !commands.isEmpty { commands[commands.count - 1].isLast = true }
    self.commands = commands
  }

  private struct Reader {
    let arguments: [String]
    /// "$@"
    let all: String
    var variables: [String: String]
    let files: ((String) -> String?)?
    var commands: [Command] = []

    private static let keywords: Set<String> = [
      "if", "then", "else", "elif", "while", "until", "do", "!", "{", "(", "time", "fi", "done", "}", ")", "esac", "&",
    ]

    init(arguments: [String], variables: [String: String], files: ((String) -> String?)?) {
      self.arguments = arguments
      self.files = files
      all = arguments.joined(separator: " ")
      self.variables = variables
    }

    mutating func read(_ line: String) {
      for part in Self.statements(line) { statement(part) }
    }

    private mutating func statement(_ text: String) {
      var words = expand(text)[...]
      words = words.drop { Self.keywords.contains($0) || $0.ends(with: "()") || $0 == UnknownText.mark }
      while let word = words.first, let equals = word.firstIndex(of: "="), Self.isName(word[..<equals]) {
        variables[String(word[..<equals])] = String(word[word.index(after: equals)...].prefix(4_096))
        words = words.dropFirst()
      }
      let isExec = words.first == "exec"
      if isExec { words = words.dropFirst().drop { $0 == UnknownText.mark } }
      guard !words.isEmpty else { return }
      commands.append(Command(words: Array(words), isExec: isExec, isLast: false))
    }

    private static func isName(_ text: Substring) -> Bool {
      !text.isEmpty && text.allSatisfy { $0 == "_" || ($0.isASCII && ($0.isLetter || $0.isNumber)) }
    }

    /// Splits at ";", "&&", "||", "|" outside quotes and substitutions; redirections are dropped.
    private static func statements(_ line: String) -> [String] {
      var parts = [""]
      var quote: Character?
      var depth = 0
      var previous: Character = " "
      for character in line {
        if let open = quote {
          if character == open { quote = nil }
        } else if character == "\"" || character == "'" || character == "`" {
          quote = character
        } else if character == "(", previous == "$" || depth > 0 {
          depth += 1
        } else if character == ")", depth > 0 {
          depth -= 1
        } else if depth == 0, character == ";" || character == "|" || character == "&" {
          // ">&1" is a redirection, no separator.
          if !(character == "&" && (previous == ">" || previous == "<")) {
            parts.append("")
            previous = character
            continue
          }
        } else if depth == 0, character == "#", previous == " " || previous == "\t" {
          break
        }
        parts[parts.count - 1].append(character)
        previous = character
      }
      return parts.map(\.trimmed).filter { !$0.isEmpty }
    }

    /// Words with quotes removed and variables put in; an unquoted variable may be several words or none.
    private func expand(_ text: String) -> [String] {
      var words = WordCollector()
      var quote: Character?
      var rest = text[...]
      while let character = rest.popFirst() {
        switch character {
        case "'" where quote != "\"", "\"" where quote != "'":
          quote = quote == nil ? character : nil
          words.open()
        case "$" where quote != "'":
          // "$@" in quotes is still one word for each argument.
          let isList = rest.first == "@"
          put(variable(&rest), into: &words, isQuoted: quote != nil && !isList)
        case "`" where quote != "'":
          let command = rest.prefix { $0 != "`" }
          rest = rest.dropFirst(command.count + 1)
          put(output(of: command), into: &words, isQuoted: quote != nil)
        case " " where quote == nil, "\t" where quote == nil: words.close()
        default: words.append(String(character).utf8)
        }
      }
      return Self.withoutRedirections(words.finish())
    }

    private func put(_ value: String, into words: inout WordCollector, isQuoted: Bool) {
      // Values that are put into each other could grow without end.
      guard value.utf8.count <= 4_096, words.words.count < 4_096 else { return }
      if isQuoted { return words.append(value.utf8) }
      for (index, part) in value.split(separator: " ").enumerated() {
        if index > 0 { words.close() }
        words.append(part.utf8)
      }
    }

    private static func withoutRedirections(_ words: [String]) -> [String] {
      var result: [String] = []
      var skips = false
      for word in words {
        let bare = word.drop { $0.isNumber }
        if skips {
          skips = false
        } else if bare.hasPrefix(">") || bare.hasPrefix("<") {
          skips = bare.allSatisfy { "<>&".contains($0) }
        } else {
          result.append(word)
        }
      }
      return result
    }

    private func variable(_ rest: inout Substring) -> String {
      guard let first = rest.first else { return "$" }
      if first == "(" { return substitution(&rest) }
      if first == "{" {
        let inner = rest.dropFirst().prefix { $0 != "}" }
        rest = rest.dropFirst(inner.count + 2)
        return braced(inner)
      }
      if first == "@" || first == "*" {
        rest = rest.dropFirst()
        return all
      }
      if first.isNumber {
        rest = rest.dropFirst()
        return value(String(first)) ?? unset
      }
      let name = rest.prefix { $0 == "_" || ($0.isASCII && ($0.isLetter || $0.isNumber)) }
      rest = rest.dropFirst(name.count)
      return name.isEmpty ? "$" : value(String(name)) ?? unset
    }

    private func braced(_ inner: Substring) -> String {
      let name = inner.prefix { $0 == "_" || $0.isLetter || $0.isNumber }
      let known = value(String(name))
      let modifier = inner.dropFirst(name.count)
      if modifier.hasPrefix("##*"), let mark = modifier.dropFirst(3).first {
        return String((known ?? unset).split(separator: mark, omittingEmptySubsequences: false).last ?? "")
      }
      guard known?.isEmpty ?? true, modifier.hasPrefix(":-") || modifier.hasPrefix("-") else { return known ?? unset }
      return String(modifier.drop { $0 == ":" || $0 == "-" })
    }

    /// nil for a variable that is set elsewhere or nowhere.
    private func value(_ name: String) -> String? {
      if let number = Int(name) { return number > 0 && number <= arguments.count ? arguments[number - 1] : "" }
      return variables[name]
    }

    private var unset: String { files == nil ? "" : UnknownText.mark }

    /// `$(…)`
    private func substitution(_ rest: inout Substring) -> String {
      var command = ""
      var depth = 0
      while let character = rest.popFirst() {
        if character == "(" { depth += 1 }
        if character == ")" {
          depth -= 1
          if depth == 0 { break }
        }
        command.append(character)
      }
      return output(of: command.dropFirst())
    }

    /// What a command prints: the one word of a file where it is `cat FILE` or `< FILE`, else it is not known.
    private func output(of command: Substring) -> String {
      // No substitution within another.
      guard let files, !command.contains(where: { "(`;|&".contains($0) }) else { return unset }
      let text = command.trimmed
      let words = text.hasPrefix("<") ? ["cat"] + expand(String(text.dropFirst())) : expand(text)
      guard words.count == 2, Programs.base(words[0]) == "cat", words[1].hasPrefix("/"),
        let printed = files(words[1])?.words(), printed.count <= 1
      else { return unset }
      return printed.first.map(String.init) ?? ""
    }
  }
}

/// Words as a shell splits them, without any expansion; ";" separates too.
enum ShellWords {
  static func split(_ text: String) -> [String] {
    var words = WordCollector()
    var quote: UInt8?
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      switch byte {
      case _ where byte == quote: quote = nil
      case _ where quote != nil: words.append(byte)
      case UInt8(ascii: "'"), UInt8(ascii: "\""):
        quote = byte
        words.open()
      case UInt8(ascii: "\\"): if let next = rest.popFirst() { words.append(next) }
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: ";"): words.close()
      default: words.append(byte)
      }
    }
    return words.finish()
  }
}
