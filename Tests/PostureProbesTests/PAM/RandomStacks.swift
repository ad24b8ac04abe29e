import PosturePlatform
import TestKit

/// Makes up the files of a service: good lines, bad lines, trees of includes, continuations.
struct RandomStacks {
  private var random: SplitMix
  private let modules: String

  init(seed: UInt64, modules: String) {
    random = SplitMix(seed)
    self.modules = modules
  }

  private static let fragments = ["frag-a", "frag-b", "frag-c", "frag-d", "frag-e"]

  /// Text by name; `svc` is the service. Includes name files of `folder` by their whole path.
  mutating func files(in folder: String) -> [String: String] {
    var files = files(prefix: "\(folder)/")
    if !chance(15) { files["other"] = file(-1, "\(folder)/", lines: 1...3) }
    return files
  }

  /// The same without `other`; every name that an include names begins with `prefix`.
  mutating func files(prefix: String) -> [String: String] {
    var files: [String: String] = [:]
    if !chance(3) { files["svc"] = file(-1, prefix, lines: 1...7) }
    for (index, name) in Self.fragments.enumerated() where !chance(8) {
      files[name] = file(index, prefix, lines: 0...5)
    }
    return files
  }

  // MARK: Dice

  private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
  private mutating func rare(_ perThousand: Int) -> Bool { Int.random(in: 0..<1000, using: &random) < perThousand }
  private mutating func one<Element>(_ list: [Element]) -> Element { list.randomElement(using: &random)! }

  // MARK: Files

  private mutating func file(_ index: Int, _ prefix: String, lines: ClosedRange<Int>) -> String {
    var text = ""
    for _ in 0..<Int.random(in: lines, using: &random) { text += line(index, prefix) + "\n" }
    if chance(8), !text.isEmpty { text.removeLast() }
    if rare(12) { text += one(["\\", "auth \\", "auth required \\\n", "  \\  \n", "\\\n"]) }
    return text
  }

  private mutating func line(_ index: Int, _ prefix: String) -> String {
    if chance(5) { return one(["# comment", "  # comment \\", "#", "#auth required pam_deny.so", "\t"]) }
    if chance(4) { return one(["", "   ", "\t \t", " \\"]) }
    if chance(14) { return join(include(index, prefix)) }
    return join(module(index))
  }

  private mutating func include(_ index: Int, _ prefix: String) -> [String] {
    let target = "\(prefix)\(target(index))"
    if chance(20) { return [one(["@include", "@include", "@INCLUDE"]), target] }
    var words = [type(), one(["include", "substack", "substack", "Include", "SUBSTACK"]), target]
    if chance(5) { words.append("ignored") }
    if rare(10) { words.removeLast() }
    return words
  }

  private mutating func target(_ index: Int) -> String {
    let later = Self.fragments.dropFirst(index + 1)
    guard chance(8) || later.isEmpty else { return one(Array(later)) }
    return one(index < 0 ? ["missing", ".", "?", "..", "frag.x"] : ["missing", "frag.x"])
  }

  // MARK: Lines

  private mutating func type() -> String {
    let word = one(["auth", "auth", "auth", "account", "account", "session", "password"])
    let dash = chance(8) ? "-" : ""
    if rare(15) { return one(["foo", "-", "--auth", "[auth]", "[]", "auth:", "authx", "aut"]) }
    return dash + (chance(10) ? one([word.uppercased(), "A" + word.dropFirst()]) : word)
  }

  private mutating func module(_ index: Int) -> [String] {
    var words = [type(), control(), path(index)] + arguments()
    if rare(15) { words.removeLast(words.count - 1) }
    if rare(15) { words = Array(words.prefix(2)) }
    if rare(5) { words.append(String(repeating: "x", count: Int.random(in: 300...2200, using: &random))) }
    return words
  }

  private mutating func control() -> String {
    if chance(45) {
      let word = one(["required", "requisite", "sufficient", "optional"])
      return chance(8) ? one([word.uppercased(), "[\(word)]", word + "x"]) : word
    }
    if chance(3) { return one(["binding", "[]", "[", "success=ok", "required,", "[default=ignore", "[ ]"]) }
    let pairs = (0..<Int.random(in: 1...4, using: &random)).map { _ in pair() }
    let end = chance(60) ? one([" default=\(action())", "default=\(action())", "  default = \(action()) "]) : ""
    return "[" + pairs.joined(separator: one([" ", " ", "\t", "  "])) + end + "]"
  }

  private mutating func pair() -> String {
    if rare(12) { return one(["Success=ok", "success", "success=", "=ok", "success=0", "success=-1", "success=ok,"]) }
    return "\(code())\(one(["=", "=", "=", " = ", "= "]))\(action())"
  }

  private mutating func action() -> String {
    if chance(25) { return one(["1", "1", "2", "3", "4", "02", "99"]) }
    if rare(10) { return one(["okay", "2x", "99999999999", "2147483648", "OK", "\\]"]) }
    return one(["ok", "done", "bad", "die", "ignore", "reset"])
  }

  private static let codes = [
    "success", "open_err", "symbol_err", "service_err", "system_err", "buf_err", "perm_denied", "auth_err",
    "cred_insufficient", "authinfo_unavail", "user_unknown", "maxtries", "new_authtok_reqd", "acct_expired",
    "session_err", "cred_unavail", "cred_expired", "cred_err", "no_module_data", "conv_err", "authtok_err",
    "authtok_recover_err", "authtok_lock_busy", "authtok_disable_aging", "try_again", "ignore", "abort",
    "authtok_expired", "module_unknown", "bad_item", "conv_again",
  ]

  private mutating func code() -> String {
    if chance(35) { return "success" }
    if chance(30) { return one(["ignore", "auth_err", "new_authtok_reqd", "module_unknown", "perm_denied"]) }
    return one(Self.codes)
  }

  private mutating func path(_ index: Int) -> String {
    if chance(90) { return "pam_debug.so" }
    // In an included file libpam is left with an entry without a name, and may crash on it.
    if index < 0, rare(40) { return one([".so", "?", "?.so", "/", "[]", "./.so"]) }
    return one([
      "pam_gone.so", "pam_debug", "\(modules)/pam_debug.so", "[pam_debug.so]", "pam_debug.so#x", "PAM_DEBUG.SO",
      "/none/pam_debug.so", "../security/pam_debug.so",
    ])
  }

  private mutating func arguments() -> [String] {
    var words = ["auth=\(code())", "acct=\(code())"]
    if chance(4) { words = words.map { "[\($0)]" } }
    if chance(3) {
      words.insert(one(["auth=nonsense", "auth=", "auth", "acct=SUCCESS", "[x y]", "auth=suc\\]"]), at: 0)
    }
    if rare(8) { words = ["auth=incomplete", "acct=incomplete"] }
    if chance(5) { words.shuffle(using: &random) }
    return words
  }

  /// The words of a line with blanks, comments and continued lines between them.
  private mutating func join(_ words: [String]) -> String {
    var text = chance(10) ? one([" ", "\t", "   "]) : ""
    for (index, word) in words.enumerated() {
      if index > 0 { text += gap() }
      text += word
    }
    if chance(5) { text += one([" # note", "#note", " #", " # note \\"]) }
    if rare(8) { text += "\r" }
    if chance(5) { text += one([" ", "\t\t"]) }
    return text
  }

  private mutating func gap() -> String {
    guard chance(4) else { return one([" ", " ", " ", "\t", "   "]) }
    let between = chance(20) ? one(["# between\n", "\n", "  # x \\\n", " \n"]) : ""
    return one([" ", ""]) + "\\" + one(["", "", " ", "\t "]) + "\n" + between + one(["", " ", "\t"])
  }
}
