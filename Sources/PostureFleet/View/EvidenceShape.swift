import Posture
import PostureTerminal

/// A report's evidence as far as it is of the shape that this version knows: `schemas/report.schema.json`. A device can
/// sign what it likes; page, API and terminal get nothing else, and are told what that leaves out.
struct EvidenceShape {
  /// What is of the shape.
  let known: JSON
  /// Where the rest stood, or is missing: `doors/3`, `findings/0/mood`.
  let unknown: [String]

  init(_ evidence: JSON) {
    let sections = Part.sections.mapValues { ($0, isRequired: false) }
    let sifted = Part.object(sections).sift(evidence, at: "")
    known = sifted?.json ?? .object([])
    let missing = Part.sections.keys.filter { $0 != "leftOut" && evidence[$0] == nil }
    unknown = (sifted?.unknown ?? []) + missing.sorted()
  }

  /// For people; nil where everything is known.
  var remark: String? {
    guard !unknown.isEmpty else { return nil }
    let more = unknown.count > 5 ? " and \(unknown.count - 5) more" : ""
    return "not of the known shape, and not shown: \(unknown.prefix(5).joined(separator: ", "))\(more)"
  }
}

/// What a value has to be like.
private indirect enum Part: Sendable {
  case null
  case flag
  case text(@Sendable (String) -> Bool)
  case number(ClosedRange<Int64>)
  /// The first that fits.
  case either([Part])
  /// As a whole or not at all: a way in that lacks a factor, or a set of ways that lacks one, would be another.
  case list(Part)
  /// Each by itself.
  case rows(Part)
  /// `others`: what members may be that are not named.
  case object([String: (Part, isRequired: Bool)], others: Part? = nil)

  struct Sifted {
    var json: JSON
    var unknown: [String] = []
  }

  /// nil: not of this shape. What is of it may have members and rows that are not: they are left out and named.
  func sift(_ json: JSON, at place: String) -> Sifted? {
    switch (self, json) {
    case (.null, .null), (.flag, .bool): return Sifted(json: json)
    case (.text(let isKnown), .string(let text)): return isKnown(text) ? Sifted(json: json) : nil
    case (.number(let range), .integer(let number)): return range.contains(number) ? Sifted(json: json) : nil
    case (.either(let parts), _): return parts.lazy.compactMap { $0.sift(json, at: place) }.first
    case (.list(let part), .array(let items)):
      return items.allSatisfy { part.sift($0, at: place)?.unknown.isEmpty ?? false } ? Sifted(json: json) : nil
    case (.rows(let part), .array(let items)): return Self.rows(part, items, at: place)
    case (.object(let parts, let others), .object(let members)): return Self.object(parts, others, members, at: place)
    default: return nil
    }
  }

  private static func rows(_ part: Part, _ items: [JSON], at place: String) -> Sifted {
    var (rows, unknown) = ([JSON](), [String]())
    for (number, item) in items.enumerated() {
      let here = "\(place)/\(number)"
      let sifted = part.sift(item, at: here)
      if let sifted { rows.append(sifted.json) }
      unknown += sifted?.unknown ?? [here]
    }
    return Sifted(json: .array(rows), unknown: unknown)
  }

  private static func object(
    _ parts: [String: (Part, isRequired: Bool)], _ others: Part?, _ members: [JSON.Member], at place: String
  ) -> Sifted? {
    var (known, unknown) = ([JSON.Member](), [String]())
    for member in members {
      let here = (place.isEmpty ? "" : place + "/") + Columns.shortened(member.name, to: 40)
      let sifted = (parts[member.name]?.0 ?? others)?.sift(member.value, at: here)
      if let sifted { known.append(JSON.Member(member.name, sifted.json)) }
      unknown += sifted?.unknown ?? [here]
    }
    let isWhole = parts.allSatisfy { name, part in !part.isRequired || known.contains { $0.name == name } }
    return isWhole ? Sifted(json: .object(known), unknown: unknown) : nil
  }
}

// MARK: - The shape

extension Part {
  static let sections: [String: Part] = [
    "schema": text { $0 == Evidence.schema }, "policy": anyText, "verdict": word(Verdict.self), "checks": rows(check),
    "subjects": rows(either([subject(["name": anyText, "uid": uid]), subject(["names": names, "uids": list(uid)])])),
    "doors": rows(either(doors)), "passwordPolicy": object(["quality": rule, "history": rule, "lockout": rule], [:]),
    "findings": rows(finding), "leftOut": object(["subjects": count, "doors": count, "findings": count], [:]),
  ]

  private static let check = object(
    ["check": word(CheckName.self), "result": word(CheckResult.self), "required": flag, "findings": list(anyText)],
    ["reason": anyText])

  private static func subject(_ who: [String: Part]) -> Part {
    let rest = [
      "kind": word(Subject.Kind.self), "account": word(Subject.Account.self), "password": word(Subject.Password.self),
    ]
    return object(who.merging(rest) { $1 }, ["scheme": anyText])
  }

  private static let doors = [["subject": anyText], ["subjects": names]].flatMap { who in
    [
      door(who, text { Answer(rawValue: $0).map { $0 != .unknown } ?? false }, opening: list(list(factor))),
      door(who, text { $0 == Answer.unknown.rawValue }, opening: null),
    ]
  }

  private static func door(_ who: [String: Part], _ answer: Part, opening: Part) -> Part {
    let rest = [
      "door": anyText, "class": word(Door.Class.self), "answer": answer, "opensWith": opening, "because": rows(reason),
    ]
    return object(
      who.merging(rest) { $1 },
      ["default": flag, "behind": anyText, "whose": word(Door.Holder.self), "proof": proof, "note": anyText])
  }

  private static let proof = object(
    ["method": word(Door.Proof.Method.self), "result": word(Door.Proof.Result.self)], ["reason": anyText])

  private static let rule = Part.object(
    ["enforced": (either([flag, null]), isRequired: true), "because": (rows(reason), isRequired: true)],
    others: either([flag, number(Int64.min...Int64.max), anyText, null]))

  private static let finding = object(
    [
      "id": anyText, "code": code, "severity": word(Finding.Severity.self), "check": word(CheckName.self),
      "subject": anyText, "observed": anyText, "evidence": rows(place), "advice": anyText,
      "since": either([number(1...253_402_300_799), null]),
    ], ["door": anyText])

  private static let place = object(["file": anyText, "line": either([line, null])], [:])
  private static let reason = object(["code": code], ["file": anyText, "line": line])

  private static let anyText = text { _ in true }
  private static let names = list(anyText)
  private static let factor = text { Factor(name: $0) != nil }
  private static let uid = either([number(0...4_294_967_295), null])
  private static let line = number(1...9_007_199_254_740_991)
  private static let count = number(0...9_007_199_254_740_991)
  /// `pam.unix`, `group.docker-root`.
  private static let code = text { text in
    (text.first?.isLowercase ?? false)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"): true
        default: false
        }
      }
  }

  private static func word<Word: RawRepresentable & Sendable>(_: Word.Type) -> Part where Word.RawValue == String {
    text { Word(rawValue: $0) != nil }
  }

  private static func object(_ required: [String: Part], _ optional: [String: Part]) -> Part {
    let all = required.merging(optional) { $1 }
    return .object(.init(uniqueKeysWithValues: all.map { ($0, ($1, isRequired: required[$0] != nil)) }))
  }
}
