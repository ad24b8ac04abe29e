import Posture
import TestKit

@testable import PostureProbes

/// A small Debian with alice (sudo), bob (nothing), root with a password, and PAM stacks that ask for the password.
struct PeopleTree {
  let tree: FixtureTree

  static let hash =
    "$6$Q2mZr8tLw1Xe$hCwJPjmxe4KZVqTsTM9ldcRba9Y.YS.d22eoaTWOhW2uxFhEy1UzwIkmzs0LA6PTm4vJpi5ev7/3Ah87dB6Kq."

  private static let base = [
    "/etc/os-release": "ID=debian\nVERSION_ID=12\n",
    "/etc/hostname": "edge1\n",
    "/etc/passwd": """
    root:x:0:0:root:/root:/bin/bash
    backup:x:34:34:backup:/var/backups:/bin/sh
    alice:x:1000:1000::/home/alice:/bin/bash
    bob:x:1001:1001::/home/bob:/bin/bash

    """,
    "/etc/shadow": """
    root:\(hash):19700:0:99999:7:::
    backup:*:19700:0:99999:7:::
    alice:\(hash):19700:0:99999:7:::
    bob:\(hash):19700:0:99999:7:::

    """,
    "/etc/group": "root:x:0:\nsudo:x:27:alice\nwheel:x:10:alice\nalice:x:1000:\nbob:x:1001:\nops:x:1002:bob\n",
    "/etc/pam.d/common-auth": "auth required pam_unix.so nullok\n",
    "/etc/pam.d/common-account": "account required pam_unix.so\n",
    "/etc/pam.d/other": "auth required pam_deny.so\naccount required pam_deny.so\n",
    "/usr/lib/x86_64-linux-gnu/security/pam_unix.so": "",
    "/usr/lib/x86_64-linux-gnu/security/pam_deny.so": "",
    "/usr/lib/x86_64-linux-gnu/security/pam_permit.so": "",
    "/usr/lib/x86_64-linux-gnu/security/pam_rootok.so": "",
  ]

  private static let stack = "@include common-auth\n@include common-account\n"

  /// `services` get a stack that asks for the password; `files` come on top.
  init(services: [String] = [], _ files: [String: String] = [:]) throws {
    tree = try FixtureTree(Self.base)
    for service in services { try tree.write("/etc/pam.d/\(service)", Self.stack) }
    for (path, text) in files { try tree.write(path, text) }
  }

  var facts: ProbeResult {
    get throws { AuthPolicyProbe().run(on: try System(root: tree.root)) }
  }

  var context: AuthContext {
    get throws { AuthContext(try System(root: tree.root)) }
  }

  func door(_ name: String, _ subject: String) throws -> Door? {
    try facts.doors.first { $0.name == name && $0.subject == subject }
  }

  /// "required passcode", "notRequired", "closed", "unknown", "absent".
  func answer(_ name: String, _ subject: String = "alice") throws -> String {
    guard let door = try door(name, subject) else { return "absent" }
    guard door.answer == .required, let opening = door.opening else { return door.answer.rawValue }
    return "required " + opening.sets.map { $0.factors.map(\.name).joined(separator: "+") }.joined(separator: "|")
  }

  func codes() throws -> [String] { try facts.remarks.map(\.cause.code) }
}
