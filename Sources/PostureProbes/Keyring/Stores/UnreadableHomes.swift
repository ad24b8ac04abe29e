import Posture

/// Homes that this process may not look into: what is kept there is not known, which is not the same as nothing.
enum UnreadableHomes {
  static func look(_ context: KeyringContext) -> ProbeResult {
    var result = ProbeResult()
    for person in context.people where person.home.hasPrefix("/") {
      let home = Home(context.system, person)
      // Any name will do: without the right to search the home, not even its absence shows.
      do throws(System.Unreadable) { _ = try context.system.status(home.path(".local")) } catch {
        guard error == .denied else { continue }
        result.doors.append(home.unreadable("home:\(person.name)", ".local", error))
      }
    }
    return result
  }
}
