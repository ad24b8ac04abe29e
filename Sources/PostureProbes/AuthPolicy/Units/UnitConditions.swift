/// Conditions and assertions without which a unit is not started (systemd.unit(5)).
struct UnitConditions {
  private let unit: Unit

  init(_ unit: Unit) { self.unit = unit }

  /// What only the running system decides counts as met.
  func areMet(_ system: System) -> Bool {
    ["Condition", "Assert"].allSatisfy { label in
      let tests = tests(label)
      // Of those with "|" one will do, of whatever kind it is.
      let triggers = tests.filter(\.isTrigger)
      return tests.allSatisfy { $0.isTrigger || isMet($0, system) }
        && (triggers.isEmpty || triggers.contains { isMet($0, system) })
    }
  }

  /// An empty value clears those of all kinds.
  private func tests(_ label: String) -> [Test] {
    var tests: [Test] = []
    for setting in unit.settings where setting.section == "Unit" && setting.key.hasPrefix(label) {
      if setting.value.isEmpty {
        tests = []
      } else {
        tests.append(Test(String(setting.key.dropFirst(label.count)), setting.value))
      }
    }
    return tests
  }

  private struct Test {
    /// `PathExists`
    let kind: String
    let isTrigger: Bool
    let isNegated: Bool
    let value: String

    init(_ kind: String, _ text: String) {
      self.kind = kind
      isTrigger = text.hasPrefix("|")
      let rest = text.dropFirst(isTrigger ? 1 : 0)
      isNegated = rest.hasPrefix("!")
      value = rest.dropFirst(isNegated ? 1 : 0).trimmed
    }
  }

  private func isMet(_ test: Test, _ system: System) -> Bool {
    let holds =
      switch test.kind {
      case "PathExists": isThere(unit.expand(test.value), system)
      case "KernelCommandLine": isSaid(unit.expand(test.value), system.shared { BootWords(system) })
      default: Bool?.none
      }
    return holds.map { $0 != test.isNegated } ?? true
  }

  private static let volatile = ["/proc", "/sys", "/dev", "/run", "/var/run", "/tmp"]

  /// nil where the files do not tell.
  private func isThere(_ path: String, _ system: System) -> Bool? {
    guard path.hasPrefix("/"), !path.contains("%"), !Self.volatile.contains(where: { path.hasPrefix("\($0)/") }) else {
      return nil
    }
    do throws(System.Unreadable) {
      _ = try system.status(path)
      return true
    } catch { return error == .missing ? false : nil }
  }

  /// A bare word stands for an assignment to it too.
  private func isSaid(_ word: String, _ kernel: BootWords) -> Bool? {
    guard kernel.place != nil else { return nil }
    return kernel.words.contains { $0 == word || (!word.contains("=") && $0.hasPrefix("\(word)=")) }
  }
}
