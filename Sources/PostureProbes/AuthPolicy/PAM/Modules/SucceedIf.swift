import Glibc
import Posture

extension PAM {
  /// pam_succeed_if: conditions on the user, the terminal and the service. Success asks nothing of anybody.
  struct SucceedIf {
    private let question: ModuleQuestion

    static let answer: ModuleModels.Model = { SucceedIf(question: $0).answer() }

    private static let options = ["debug", "use_uid", "quiet", "quiet_fail", "quiet_success", "audit"]

    private func answer() -> ModuleAnswer {
      let words = question.arguments.filter { !Self.options.contains($0) }
      let condition = "pam_succeed_if.so \(words.joined(separator: " "))"
      var codes: [Code] = []
      for start in stride(from: 0, to: words.count - 2, by: 3) {
        codes = evaluate(words[start], words[start + 1], words[start + 2])
        if codes != [.success] { break }
      }
      if codes.isEmpty || codes == [.success] { codes = words.count % 3 == 0 ? [.success] : [.serviceError] }
      guard codes.count == 1 else {
        return .oneOf(codes, Cause("conditionUnknown", observed: "\(condition): cannot be told"))
      }
      return .fixed(
        codes[0], grant: codes == [.success] ? Cause("pamFilterGrants", observed: condition) : nil)
    }

    // MARK: What is compared

    private static let either: [Code] = [.success, .authenticationError]

    /// The user whom the condition is about.
    private var user: Account? {
      question.has("use_uid")
        ? question.accounts.all.first { $0.uid == question.call.callerUID } : question.account
    }

    private enum Attribute {
      case known(String)
      case unknown
      case invalid
    }

    private func attribute(_ name: String) -> Attribute {
      func ofUser(_ value: (Account) -> String) -> Attribute { user.map { .known(value($0)) } ?? .unknown }
      switch ASCII.lowercased(name) {
      case "user", "login", "name": return ofUser(\.name)
      case "uid": return ofUser { String($0.uid) }
      case "gid": return ofUser { String($0.gid) }
      case "shell": return ofUser(\.shell)
      case "home", "dir", "homedir": return ofUser(\.home)
      case "service": return .known(PAM.serviceName(question.call.service))
      case "ruser": return .known(question.call.caller ?? "")
      case "rhost": return question.call.isRemote ? .unknown : .known("")
      case "tty": return question.call.terminal.map { .known($0) } ?? .unknown
      default: return .invalid
      }
    }

    private func evaluate(_ left: String, _ operation: String, _ right: String) -> [Code] {
      switch attribute(left) {
      case .invalid: return [.serviceError]
      case .unknown: return Self.either
      case .known(let value): return evaluate(value, ASCII.lowercased(operation), right, of: left)
      }
    }

    private func evaluate(_ left: String, _ operation: String, _ right: String, of name: String) -> [Code] {
      switch operation {
      case "<", "lt": return number(left, right, <)
      case "<=", "le": return number(left, right, <=)
      case ">", "gt": return number(left, right, >)
      case ">=", "ge": return number(left, right, >=)
      case "eq": return number(left, right, ==)
      case "ne": return number(left, right, !=)
      case "=": return truth(left == right)
      case "!=": return truth(left != right)
      case "=~", "glob": return truth(fnmatch(right, left, 0) == 0)
      case "!~", "noglob": return truth(fnmatch(right, left, 0) != 0)
      case "in": return truth(items(right).contains(left))
      case "notin": return truth(!items(right).contains(left))
      case "ingroup": return membership(name, left, right, wanted: true)
      case "notingroup": return membership(name, left, right, wanted: false)
      case "innetgr": return netgroup(right, wanted: true)
      case "notinnetgr": return netgroup(right, wanted: false)
      default: return [.serviceError]
      }
    }

    private func truth(_ holds: Bool) -> [Code] { [holds ? .success : .authenticationError] }

    private func items(_ list: String) -> [String] {
      list.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    }

    private func number(_ left: String, _ right: String, _ compare: (Int64, Int64) -> Bool) -> [Code] {
      guard let left = integer(left), let right = integer(right) else { return [.serviceError] }
      return truth(compare(left, right))
    }

    /// As strtoll(3) with base 0 reads the whole of it. Before 1.6 nothing at all was zero.
    private func integer(_ text: String) -> Int64? {
      guard !text.isEmpty else { return question.pam.dialect.lines == .before16 ? 0 : nil }
      var end: UnsafeMutablePointer<CChar>?
      errno = 0
      return text.withCString { start in
        let value = strtoll(start, &end, 0)
        return errno == 0 && end?.pointee == 0 ? Int64(value) : nil
      }
    }

    /// From afar the host counts too, and whoever comes from a host of the group may be meant.
    private func netgroup(_ group: String, wanted: Bool) -> [Code] {
      guard let name = user?.name, let found = question.accounts.netgroups.contains(group, user: name),
        !(found && question.call.isRemote)
      else { return Self.either }
      return truth(found == wanted)
    }

    /// Of the user, or of the one whom `ruser` names.
    private func membership(_ attribute: String, _ value: String, _ list: String, wanted: Bool) -> [Code] {
      let name = ASCII.lowercased(attribute) == "ruser" ? value : user?.name
      guard let account = name.flatMap({ question.accounts[$0] }) else { return Self.either }
      let groups = list.split(separator: ":").map(String.init)
      return truth(groups.contains(where: account.isMember) == wanted)
    }
  }
}
