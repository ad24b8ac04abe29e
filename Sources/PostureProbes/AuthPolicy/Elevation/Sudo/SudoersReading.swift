import Posture

/// The sudoers of a system, with how they were read.
struct SudoersReading: Sendable {
  var sudoers: Sudoers
  var source: SudoersSource
  /// Lines that cannot be read.
  var problems: [SudoersSource.Problem]
  /// Which parser stands behind it: `sudo.cvtsudoers`, or our own and why.
  var reason: Reason

  /// Asks sudo's own parser, and takes the places from ours; ours alone where that one gives no answer.
  init(_ main: String, on system: System, hostName: String?) {
    source = SudoersSource(main, on: system, hostName: hostName)
    let (own, problems) = SudoersParser.parse(source)
    self.problems = problems
    let place = Place(main)
    do throws(CvtSudoers.Failure) {
      let theirs = try CvtSudoers.read(source.text)
      reason = Reason("sudo.cvtsudoers", place)
      sudoers = theirs.located(by: own)
      sudoers.settings = Self.settings(theirs.settings, own.settings)
    } catch {
      sudoers = own
      switch error {
      case .notInstalled: reason = Reason("sudo.ownParser.cvtsudoersNotInstalled", place)
      case .refused: reason = Reason("sudo.ownParser.cvtsudoersRefused", place)
      case .unintelligible: reason = Reason("sudo.ownParser.cvtsudoersUnintelligible", place)
      }
    }
    if SudoProgram.isRust(system) { sudoers.settings.removeAll { !SudoProgram.rustSettings.contains($0.name) } }
  }

  /// The tool does not say whether names bind users or run-as users: ours does, where both agree on everything else.
  private static func settings(_ theirs: [Sudoers.Setting], _ own: [Sudoers.Setting]) -> [Sudoers.Setting] {
    let agree =
      theirs.count == own.count
      && zip(theirs, own).allSatisfy { $0.name == $1.name && $0.value == $1.value && $0.isOn == $1.isOn }
    return agree ? own : theirs
  }
}
