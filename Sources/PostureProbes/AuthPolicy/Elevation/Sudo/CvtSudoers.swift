import Posture
import PosturePlatform

/// sudo's own parser: `cvtsudoers -e -f json`, fed with the text of all files.
enum CvtSudoers {
  enum Failure: Error, Hashable, Sendable {
    case notInstalled
    /// It did not accept the text, or did not come to an end.
    case refused(String)
    /// Its JSON is not valid: known of 1.9.13 where a rule has CWD, CHROOT, ROLE or TYPE.
    case unintelligible
  }

  static func read(_ text: [UInt8]) throws(Failure) -> Sudoers {
    guard let result = Tool.cvtsudoers.run(["-e", "-f", "json", "-"], input: text) else { throw .notInstalled }
    guard case .success(let output) = result else { throw .refused("no answer") }
    guard output.status == 0, output.err.isEmpty else {
      let words = String(decoding: output.err.prefix { $0 != 0x0A }, as: UTF8.self)
      throw .refused(words.isEmpty ? "exit status \(output.status)" : words)
    }
    if output.out.isEmpty { return Sudoers() }
    guard let json = try? JSONParser.parse(output.out, limits: .foreign) else { throw .unintelligible }
    return try sudoers(json)
  }

  static func sudoers(_ json: JSON) throws(Failure) -> Sudoers {
    var result = Sudoers()
    for entry in json["Defaults"]?.array ?? [] { result.settings += try settings(entry) }
    for entry in json["User_Specs"]?.array ?? [] { result.rules.append(try rule(entry)) }
    return result
  }

  /// Where the tool says nothing: the main file.
  private static let place = Place("/etc/sudoers")

  // MARK: Rules

  private static func rule(_ json: JSON) throws(Failure) -> Sudoers.Rule {
    var grants: [Sudoers.Grant] = []
    for spec in json["Cmnd_Specs"]?.array ?? [] { grants += try self.grants(spec) }
    return Sudoers.Rule(
      users: try items(json["User_List"]), hosts: try items(json["Host_List"]), grants: grants, place: place,
      text: "")
  }

  private static func grants(_ json: JSON) throws(Failure) -> [Sudoers.Grant] {
    var model = Sudoers.Grant(command: Sudoers.Item(name: .all))
    if let users = json["runasusers"] { model.runasUsers = try items(users) }
    if let groups = json["runasgroups"] { model.runasGroups = try items(groups) }
    for option in json["Options"]?.array ?? [] {
      if let value = option["authenticate"]?.bool { model.asksPassword = value }
      if let value = option["setenv"]?.bool { model.setsEnvironment = value }
      if let value = option["notbefore"]?.string { model.notBefore = value }
      if let value = option["notafter"]?.string { model.notAfter = value }
    }
    return try items(json["Commands"]).map { command in
      var grant = model
      grant.command = command
      return grant
    }
  }

  private static func items(_ json: JSON?) throws(Failure) -> [Sudoers.Item] {
    var result: [Sudoers.Item] = []
    for item in json?.array ?? [] {
      guard let name = name(item) else { throw .unintelligible }
      result.append(Sudoers.Item(name: name, isNegated: item["negated"]?.bool ?? false))
    }
    return result
  }

  private static func name(_ json: JSON) -> Sudoers.Name? {
    for member in json.members ?? [] {
      switch (member.name, member.value) {
      case ("negated", _): continue
      case (_, .string("ALL")): return .all
      case ("username", .string(let text)), ("useralias", .string(let text)), ("runasalias", .string(let text)):
        return .user(text)
      case ("userid", .integer(let id)): return .uid(UInt32(truncatingIfNeeded: id))
      case ("usergroup", .string(let text)): return .group(text)
      case ("usergid", .integer(let id)): return .gid(UInt32(truncatingIfNeeded: id))
      case ("netgroup", .string(let text)): return .netgroup(text)
      case ("nonunixgroup", .string(let text)): return .foreignGroup(text)
      case ("hostname", .string(let text)), ("networkaddr", .string(let text)), ("hostalias", .string(let text)):
        return .host(text)
      case ("command", .string(let text)), ("cmndalias", .string(let text)): return .command(text)
      default: continue
      }
    }
    return nil
  }

  // MARK: Settings

  private static func settings(_ json: JSON) throws(Failure) -> [Sudoers.Setting] {
    let scope = try scope(json["Binding"])
    var result: [Sudoers.Setting] = []
    for option in json["Options"]?.array ?? [] {
      guard let member = option.members?.first, Sudoers.Setting.relevant.contains(member.name) else { continue }
      switch member.value {
      case .bool(let isOn):
        result.append(Sudoers.Setting(scope: scope, name: member.name, value: nil, isOn: isOn, place: place))
      case .string(let value):
        result.append(Sudoers.Setting(scope: scope, name: member.name, value: value, isOn: true, place: place))
      default: continue
      }
    }
    return result
  }

  /// The kind of a binding shows in its members only; users and run-as users look alike and are told apart by our reading.
  private static func scope(_ json: JSON?) throws(Failure) -> Sudoers.Setting.Scope {
    guard let json, let first = json.array?.first else { return .everybody }
    let items = try items(json)
    if first["command"] != nil || first["cmndalias"] != nil { return .commands(items) }
    if first["hostname"] != nil || first["networkaddr"] != nil || first["hostalias"] != nil { return .hosts(items) }
    return .users(items)
  }
}
