import Posture
import PostureTerminal

/// The command line of the device's side.
enum Agent {
  static let usage = """
    posture-agent: would a person at this device have to prove who they are, and are its secrets locked behind that proof?

    usage: posture-agent check [--root DIR] [--policy NAME|FILE] [--json | --junit] [--service NAME]... [--user NAME]...
           posture-agent check --token [--root DIR] [--policy NAME|FILE] [--service NAME]... [--user NAME]...
                               [--config FILE] [--folder DIR] [--socket PATH]
           posture-agent run [--config FILE] [--user USER] [--courier USER]
           posture-agent run --alone [--config FILE]
           posture-agent enroll [--name NAME] [--out FILE] [--new-keys] [--key file|tpm] [--tcti TCTI]
                                [--config FILE] [--folder DIR] [--user USER] [--courier USER]
           posture-agent enroll --install BUNDLE [--config FILE] [--folder DIR] [--user USER] [--courier USER]
           posture-agent attest [--keep] [--config FILE] [--folder DIR] [--socket PATH] [--root DIR] [--user USER]
                                [--courier USER] [--trusted-clock] [--report-life SECONDS]
           posture-agent attest --session
           posture-agent status [--config FILE] [--socket PATH] [--json]
           posture-agent --version | --help

    USER is a name, a number, or UID:GID. Started as root, attest becomes --user (posture-attest), keeps of root's rights
    only that to read, and leaves the network; it answers --courier (posture) and root on its socket. Started as root, run
    starts the attester itself and becomes --courier; under systemd the units do both.

    exit status: 0 verdict pass, 1 fail, 2 unknown, 64 wrong usage, 70 the agent itself failed
    """

  /// Runs the verb and gives the exit status.
  static func run(_ words: [String]) throws(UsageError) -> Int32 {
    var arguments = Arguments(words)
    if arguments.flag("--help", "-h") {
      Terminal.out(usage)
      return 0
    }
    switch arguments.verb() {
    case "check": return try CheckCommand(&arguments).run()
    case "run": return try RunCommand(&arguments).run()
    case "attest": return try AttestCommand(&arguments).run()
    case "enroll": return try EnrollCommand(&arguments).run()
    case "status": return try StatusCommand(&arguments).run()
    case let other?: throw UsageError("unknown command \(other)")
    case nil: break
    }
    guard arguments.flag("--version") else { throw UsageError("a command is missing") }
    try arguments.end()
    Terminal.out("posture-agent \(Release.version)")
    return 0
  }
}
