/// Which checks have to succeed, and which open doors are meant to be open.
public struct Policy: Hashable, Sendable {
  public enum Demand: String, Sendable {
    case require
    /// `absent` will do.
    case requireIfPresent
    case inform
  }

  /// A door that is open on purpose: a kiosk's automatic login.
  public struct Intended: Hashable, Sendable {
    public var door: String
    public var subject: String
    public var why: String

    public init(door: String, subject: String, why: String) {
      self.door = door
      self.subject = subject
      self.why = why
    }
  }

  public var name: String
  public private(set) var demands: [CheckName: Demand]
  public var intended: [Intended]

  public init(name: String, demands: [CheckName: Demand], intended: [Intended] = []) {
    self.name = name
    self.demands = demands
    self.intended = intended
  }

  public func demand(of check: CheckName) -> Demand { demands[check] ?? .inform }

  /// Somebody at the device has to prove who they are.
  public static let entry = Policy(
    name: "entry",
    demands: [.ownerAuthentication: .require, .passcode: .requireIfPresent, .keyring: .requireIfPresent])

  /// … and a stolen device gives nothing away.
  public static let stolen = Policy(
    name: "stolen",
    demands: entry.demands.merging([.disk: .require, .deviceBinding: .require, .bootEntry: .require]) { $1 })

  /// … and nobody becomes root, or comes in from elsewhere, without proof.
  public static let hardened = Policy(
    name: "hardened",
    demands: stolen.demands.merging([
      .elevation: .requireIfPresent, .screenLock: .requireIfPresent, .remoteEntry: .requireIfPresent,
    ]) { $1 })

  public static let shipped = [entry, stolen, hardened]
}

/// Why a policy document is refused.
public struct PolicyError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
}

extension Policy {
  /// Reads `{"name", "base", "checks", "intended"}`; every other member is an error, so that a misspelt demand is not lost.
  public init(json: JSON) throws(PolicyError) {
    guard let members = json.members else { throw PolicyError(description: "a policy is a JSON object") }
    let known = ["name", "base", "checks", "intended"]
    if let stranger = members.first(where: { !known.contains($0.name) }) {
      throw PolicyError(description: "unknown member \"\(stranger.name)\"; known: \(known.joined(separator: " "))")
    }
    guard let name = json["name"]?.string, !name.isEmpty, name.utf8.count <= 64 else {
      throw PolicyError(description: "\"name\" has to be a string of 1 to 64 bytes")
    }
    var demands: [CheckName: Demand] = [:]
    if let base = json["base"] {
      guard let shipped = Policy.shipped.first(where: { $0.name == base.string }) else {
        throw PolicyError(description: "\"base\" has to be one of entry, stolen, hardened")
      }
      demands = shipped.demands
    }
    for member in json["checks"]?.members ?? [] {
      guard let check = CheckName(rawValue: member.name) else {
        throw PolicyError(description: "unknown check \"\(member.name)\"")
      }
      guard let demand = member.value.string.flatMap(Demand.init(rawValue:)) else {
        throw PolicyError(description: "\"\(member.name)\" has to be require, requireIfPresent or inform")
      }
      demands[check] = demand
    }
    if let checks = json["checks"], checks.members == nil {
      throw PolicyError(description: "\"checks\" has to be an object")
    }
    self.init(name: name, demands: demands, intended: try Self.intended(json["intended"]))
  }

  private static func intended(_ json: JSON?) throws(PolicyError) -> [Intended] {
    guard let json else { return [] }
    guard let rows = json.array else { throw PolicyError(description: "\"intended\" has to be a list") }
    var result: [Intended] = []
    for row in rows {
      guard let door = row["door"]?.string, let subject = row["subject"]?.string, let why = row["why"]?.string,
        row.members?.count == 3
      else { throw PolicyError(description: "each row of \"intended\" has \"door\", \"subject\" and \"why\"") }
      result.append(Intended(door: door, subject: subject, why: why))
    }
    return result
  }

  /// The same policy spelt out, checks in their order: what its digest is taken of.
  public var json: JSON {
    [
      "name": .string(name),
      "checks": .object(CheckName.allCases.map { JSON.Member($0.rawValue, .string(demand(of: $0).rawValue)) }),
      "intended": .array(
        intended.map { ["door": .string($0.door), "subject": .string($0.subject), "why": .string($0.why)] }),
    ]
  }
}
