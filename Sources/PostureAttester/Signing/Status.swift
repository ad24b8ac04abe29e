import Posture
import PostureTokens

extension Attester {
  /// For `posture-agent status`: names and numbers, no secret.
  var status: JSON {
    let ledger = journal.ledger
    return .build { object in
      object("device", .string(identity.party.urn))
      object("kid", .string(identity.kid))
      object("key", .string(identity.key.protection.rawValue))
      if let credential = identity.credential { object("enrolledUntil", .integer(credential.grant.expires)) }
      object("clock", .string(moment.isTrusted ? "synced" : "unsynced"))
      object("policy", policyStatus)
      object("trust", trustStatus)
      if let last { object("report", last.json) }
      object(
        "chain",
        [
          "id": .string(ledger.chain.id), "eseq": .integer(ledger.chain.number),
          "waiting": .integer(Int64(ledger.chain.waiting.count)),
        ])
      object("journal", journalStatus)
      if !ledger.refused.isEmpty {
        object(
          "refused",
          .object(ledger.refused.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .string($0.value)) }))
      }
    }
  }

  private var policyStatus: JSON {
    let policy = self.policy
    return .build { object in
      object("name", .string(policy.policy.name))
      object("digest", .string(policy.digest))
      if let version = policy.version { object("ver", .integer(version)) }
    }
  }

  private var trustStatus: JSON {
    let store = trust
    return .build { object in
      object("ver", .integer(store.floor))
      if let current = store.current { object("exp", .integer(current.expires)) }
      object("expired", .bool(store.isExpired(at: moment)))
    }
  }

  private var journalStatus: JSON {
    .build { object in
      object("writes", .integer(Int64(journal.writes)))
      object("bytes", .integer(Int64(journal.bytesWritten)))
      object("error", optional: journal.failure)
    }
  }
}

extension Attester.LastReport {
  fileprivate var json: JSON {
    [
      "seq": .integer(sequence), "at": .integer(at), "cause": .string(cause.rawValue),
      "verdict": .string(verdict.rawValue), "policy": .string(policy.policy.name), "milliseconds": .integer(took),
      "failures": .array(failures.map(JSON.string)),
    ]
  }
}
