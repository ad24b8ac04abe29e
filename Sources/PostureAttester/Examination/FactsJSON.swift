import Posture

/// What the probes saw, on its way out of the process that looked. Unlike evidence it has everything that the judge asks.
extension ProbeResult {
  var json: JSON {
    .build { object in
      object("subjects", .array(subjects.map(\.fact)))
      object("doors", .array(doors.map(\.fact)))
      if let passwordPolicy { object("passwordPolicy", passwordPolicy.fact) }
      object("remarks", .array(remarks.map(\.fact)))
      object("gaps", .array(gaps.map(\.fact)))
      if let biometrics { object("biometrics", biometrics.fact) }
      object("isRestricted", .bool(isRestricted))
    }
  }
}

extension Subject {
  fileprivate var fact: JSON {
    .build { object in
      object("name", .string(name))
      if let uid { object("uid", .integer(Int64(uid))) }
      object("kind", .string(kind.rawValue))
      object("account", .string(account.rawValue))
      object("password", .string(password.rawValue))
      object("scheme", optional: scheme)
      if let place { object("place", place.fact) }
    }
  }
}

extension Door {
  fileprivate var fact: JSON {
    .build { object in
      object("name", .string(name))
      object("class", .string(`class`.rawValue))
      object("subject", .string(subject))
      if let opening { object("opening", opening.json) }
      object("because", .array(because.map(\.fact)))
      if let cause { object("cause", cause.fact) }
      object("isDefault", .bool(isDefault))
      object("behind", optional: behind)
      object("whose", optional: whose?.rawValue)
      if let proof { object("proof", proof.fact) }
      object("note", optional: note)
      object("counts", .bool(counts))
      object("oncePerBoot", .bool(oncePerBoot))
      object("holdsSystem", .bool(holdsSystem))
      if let ground { object("ground", ground.json) }
    }
  }
}

extension Door.Proof {
  fileprivate var fact: JSON {
    .build { object in
      object("method", .string(method.rawValue))
      object("result", .string(result.rawValue))
      object("reason", optional: reason)
    }
  }
}

extension Reason {
  fileprivate var fact: JSON {
    .build { object in
      object("code", .string(code))
      if let place { object("place", place.fact) }
    }
  }
}

extension Place {
  fileprivate var fact: JSON {
    .build { object in
      object("file", .string(file))
      if let line { object("line", .integer(Int64(line))) }
    }
  }
}

extension Cause {
  fileprivate var fact: JSON {
    .build { object in
      object("code", .string(code))
      object("observed", .string(observed))
      if let evidence { object("evidence", .array(evidence.map(\.fact))) }
    }
  }
}

extension PasswordPolicy {
  fileprivate var fact: JSON { ["quality": quality.fact, "history": history.fact, "lockout": lockout.fact] }
}

extension PasswordPolicy.Rule {
  fileprivate var fact: JSON {
    .build { object in
      if let enforced { object("enforced", .bool(enforced)) }
      object("values", .object(values))
      object("because", .array(because.map(\.fact)))
    }
  }
}

extension Remark {
  fileprivate var fact: JSON {
    .build { object in
      object("cause", cause.fact)
      object("check", .string(check.rawValue))
      object("subject", .string(subject))
      object("door", optional: door)
    }
  }
}

extension Gap {
  fileprivate var fact: JSON {
    ["cause": cause.fact, "checks": .array(checks.map { .string($0.rawValue) })]
  }
}

extension Biometrics {
  fileprivate var fact: JSON { ["result": .string(result.rawValue), "cause": cause.fact] }
}
