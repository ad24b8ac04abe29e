import Posture

/// Homes that this process may not look into: what is kept there is not known, which is not the same as nothing.
enum UnreadableHomes {
  /// `doors`: what else is known. A home that has a row keeps it, and what lies in it is a gap.
  static func look(_ context: KeyringContext, _ doors: [Door]) -> ProbeResult {
    var result = ProbeResult()
    let known = Set(doors.map(\.name))
    for person in context.people where person.home.hasPrefix("/") {
      let home = Home(context.system, person)
      // Any name will do: without the right to search the home, not even its absence shows.
      do throws(System.Unreadable) { _ = try context.system.status(home.path(".local")) } catch {
        guard error == .denied else { continue }
        let name = "home:\(person.name)"
        if known.contains(name) {
          result.gaps.append(home.gap(".local", error))
        } else {
          result.doors.append(home.unreadable(name, ".local", error))
        }
      }
    }
    return result
  }
}
