import Posture

/// The way back from ``ProbeResult/json``: everything or an error.
extension ProbeResult {
  init(facts reader: FactReader) throws(FactsError) {
    self.init()
    subjects = try reader.list("subjects", Subject.init(facts:))
    doors = try reader.list("doors", Door.init(facts:))
    passwordPolicy = try reader.optional("passwordPolicy", PasswordPolicy.init(facts:))
    remarks = try reader.list("remarks", Remark.init(facts:))
    gaps = try reader.list("gaps", Gap.init(facts:))
    biometrics = try reader.optional("biometrics", Biometrics.init(facts:))
    isRestricted = try reader.flag("isRestricted")
  }
}

extension Subject {
  fileprivate init(facts reader: FactReader) throws(FactsError) {
    self.init(
      name: try reader.text("name"), uid: try reader.optionalNumber("uid"), kind: try reader.word("kind"),
      account: try reader.word("account"), password: try reader.word("password"),
      scheme: try reader.optionalText("scheme"), place: try reader.optional("place", Place.init(facts:)))
  }
}

extension Door {
  fileprivate init(facts reader: FactReader) throws(FactsError) {
    self.init(
      try reader.text("name"), try reader.word("class"), try reader.text("subject"),
      try Opening.find("opening", in: reader),
      because: try reader.list("because", Reason.init(facts:)),
      cause: try reader.optional("cause", Cause.init(facts:)))
    isDefault = try reader.flag("isDefault")
    behind = try reader.optionalText("behind")
    whose = try reader.optionalWord("whose")
    proof = try reader.optional("proof", Proof.init(facts:))
    note = try reader.optionalText("note")
    counts = try reader.flag("counts")
    oncePerBoot = try reader.flag("oncePerBoot")
    holdsSystem = try reader.flag("holdsSystem")
    ground = try Opening.find("ground", in: reader)
  }
}

extension Opening {
  /// nil: not known.
  fileprivate static func find(_ name: String, in reader: FactReader) throws(FactsError) -> Opening? {
    reader.has(name) ? try Opening(facts: try reader.array(name)) : nil
  }

  fileprivate init(facts rows: [JSON]) throws(FactsError) {
    var sets: [FactorSet] = []
    for row in rows {
      guard let names = row.strings else { throw FactsError(member: "opening") }
      let factors = names.compactMap(Factor.init(name:))
      guard factors.count == names.count else { throw FactsError(member: "opening") }
      sets.append(FactorSet(factors))
    }
    self.init(sets)
  }
}

extension Door.Proof {
  fileprivate init(facts reader: FactReader) throws(FactsError) {
    self.init(try reader.word("method"), try reader.word("result"), reason: try reader.optionalText("reason"))
  }
}

extension Reason {
  fileprivate init(facts reader: FactReader) throws(FactsError) {
    self.init(try reader.text("code"), try reader.optional("place", Place.init(facts:)))
  }
}

extension Place {
  fileprivate init(facts reader: FactReader) throws(FactsError) {
    self.init(try reader.text("file"), line: try reader.optionalNumber("line"))
  }
}

extension Cause {
  fileprivate init(facts reader: FactReader) throws(FactsError) {
    self.init(
      try reader.text("code"), observed: try reader.text("observed"),
      evidence: reader.has("evidence") ? try reader.list("evidence", Place.init(facts:)) : nil)
  }
}

extension PasswordPolicy {
  fileprivate init(facts reader: FactReader) throws(FactsError) {
    self.init(
      quality: try reader.one("quality", Rule.init(facts:)), history: try reader.one("history", Rule.init(facts:)),
      lockout: try reader.one("lockout", Rule.init(facts:)))
  }
}

extension PasswordPolicy.Rule {
  fileprivate init(facts reader: FactReader) throws(FactsError) {
    self.init(
      enforced: try reader.optionalFlag("enforced"), values: try reader.members("values"),
      because: try reader.list("because", Reason.init(facts:)))
  }
}

extension Remark {
  fileprivate init(facts reader: FactReader) throws(FactsError) {
    self.init(
      try reader.one("cause", Cause.init(facts:)), check: try reader.word("check"),
      subject: try reader.text("subject"), door: try reader.optionalText("door"))
  }
}

extension Gap {
  fileprivate init(facts reader: FactReader) throws(FactsError) {
    self.init(try reader.one("cause", Cause.init(facts:)), checks: try reader.words("checks"))
  }
}

extension Biometrics {
  fileprivate init(facts reader: FactReader) throws(FactsError) {
    self.init(result: try reader.word("result"), cause: try reader.one("cause", Cause.init(facts:)))
  }
}
