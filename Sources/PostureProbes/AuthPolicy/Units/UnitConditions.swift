/// Conditions and assertions on files, without which a unit is not started (systemd.unit(5)).
struct UnitConditions {
  private let unit: Unit

  init(_ unit: Unit) { self.unit = unit }

  /// What only the running system decides counts as met.
  func areMet(_ system: System) -> Bool {
    ["Condition", "Assert"].allSatisfy { kind in
      let tests = unit.values("\(kind)PathExists", in: "Unit").map { Test($0.value) }
      // Of those with "|" one will do, of whatever kind it is.
      let others = unit.settings.contains { setting in
        setting.section == "Unit" && setting.key.hasPrefix(kind) && setting.key != "\(kind)PathExists"
          && setting.value.hasPrefix("|")
      }
      let triggers = tests.filter(\.isTrigger)
      return tests.allSatisfy { $0.isTrigger || isMet($0, system) }
        && (triggers.isEmpty || others || triggers.contains { isMet($0, system) })
    }
  }

  private struct Test {
    let isTrigger: Bool
    let isNegated: Bool
    let path: String

    init(_ value: String) {
      isTrigger = value.hasPrefix("|")
      let rest = value.dropFirst(isTrigger ? 1 : 0)
      isNegated = rest.hasPrefix("!")
      path = rest.dropFirst(isNegated ? 1 : 0).trimmed
    }
  }

  private static let volatile = ["/proc", "/sys", "/dev", "/run", "/var/run", "/tmp"]

  private func isMet(_ test: Test, _ system: System) -> Bool {
    let path = unit.expand(test.path)
    guard path.hasPrefix("/"), !path.contains("%"), !Self.volatile.contains(where: { path.hasPrefix("\($0)/") }) else {
      return true
    }
    do throws(System.Unreadable) {
      _ = try system.status(path)
      return !test.isNegated
    } catch { return error != .missing || test.isNegated }
  }
}
