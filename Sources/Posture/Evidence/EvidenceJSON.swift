extension Evidence {
  /// One object, members in the order of the schema.
  public var json: JSON {
    [
      "schema": .string(Self.schema),
      "policy": .string(policy),
      "verdict": .string(verdict.rawValue),
      "checks": .array(checks.map(\.json)),
      "subjects": .array(subjects.map(\.json)),
      "doors": .array(doors.map(\.json)),
      "passwordPolicy": passwordPolicy.json,
      "findings": .array(findings.map(\.json)),
    ]
  }
}

extension Check {
  var json: JSON {
    .build { object in
      object("check", .string(name.rawValue))
      object("result", .string(result.rawValue))
      object("required", .bool(required))
      object("findings", .array(findings.map(JSON.string)))
      object("reason", optional: reason)
    }
  }
}

extension Subject {
  var json: JSON {
    .build { object in
      object("name", .string(name))
      object("uid", uid.map { .integer(Int64($0)) } ?? .null)
      object("kind", .string(kind.rawValue))
      object("account", .string(account.rawValue))
      object("password", .string(password.rawValue))
      object("scheme", optional: scheme)
    }
  }
}

extension Door {
  var json: JSON {
    .build { object in
      object("door", .string(name))
      object("class", .string(`class`.rawValue))
      object("subject", .string(subject))
      object("answer", .string(answer.rawValue))
      object("opensWith", opening?.json ?? .null)
      object("because", .array(because.map(\.json)))
      if isDefault { object("default", true) }
      object("behind", optional: behind)
      object("whose", optional: whose?.rawValue)
      if let proof { object("proof", proof.json) }
      object("note", optional: note)
    }
  }
}

extension Door.Proof {
  var json: JSON {
    .build { object in
      object("method", .string(method.rawValue))
      object("result", .string(result.rawValue))
      object("reason", optional: reason)
    }
  }
}

extension Reason {
  var json: JSON {
    .build { object in
      object("code", .string(code))
      if let place {
        object("file", .string(place.file))
        if let line = place.line { object("line", .integer(Int64(line))) }
      }
    }
  }
}

extension Place {
  var json: JSON { ["file": .string(file), "line": .count(line)] }
}

extension PasswordPolicy {
  var json: JSON { ["quality": quality.json, "history": history.json, "lockout": lockout.json] }
}

extension PasswordPolicy.Rule {
  var json: JSON {
    .object(
      [JSON.Member("enforced", enforced.map(JSON.bool) ?? .null)] + values
        + [JSON.Member("because", .array(because.map(\.json)))])
  }
}

extension Finding {
  var json: JSON {
    .build { object in
      object("id", .string(id))
      object("code", .string(code))
      object("severity", .string(severity.rawValue))
      object("check", .string(check.rawValue))
      object("subject", .string(subject))
      object("door", optional: door)
      object("observed", .string(observed))
      object("evidence", .array(evidence.map(\.json)))
      object("advice", .string(advice))
      object("since", since.map(JSON.integer) ?? .null)
    }
  }
}
