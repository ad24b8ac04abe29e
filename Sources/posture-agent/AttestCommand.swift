import Glibc
import Posture
import PostureAttester
import PosturePlatform
import PostureTerminal

/// `posture-agent attest`: examines, judges and signs for whoever asks on its socket.
struct AttestCommand {
  private enum Role: Equatable {
    case serve
    /// Keep another one alive.
    case keep(withParent: Bool)
    /// Serve on the socket that is standard input, privileges given up already.
    case inherited
    /// In an owner's session: try its Secret Service for whoever asks.
    case session
    /// Look, say what was seen, end.
    case examine([String])
  }

  private let role: Role
  private var settings = AttesterSettings()

  init(_ arguments: inout Arguments) throws(UsageError) {
    if arguments.flag("--examine") {
      role = .examine(try arguments.options("--probe"))
      settings.root = try arguments.option("--root") ?? "/"
      try arguments.end()
      return
    }
    if arguments.flag("--session") {
      role = .session
      try arguments.end()
      return
    }
    if arguments.flag("--keep") {
      role = .keep(withParent: arguments.flag("--with-parent"))
    } else {
      role = arguments.flag("--inherited") ? .inherited : .serve
    }
    settings = try DeviceOptions.settings(&arguments)
    try arguments.end()
  }

  func run() -> Int32 {
    do {
      try perform()
      return 0
    } catch {
      Terminal.error("posture-agent attest: \(error)")
      return ExitStatus.failed
    }
  }

  private func perform() throws {
    switch role {
    case .examine(let probes): try ExaminationProcess.run(root: settings.root, probes: probes)
    case .session: try SessionService.run(try ServiceManager.handedSocket() ?? SessionService.listen())
    case .keep(let withParent): try AttesterProcess.keep(settings, parent: withParent ? 0 : -1)
    case .inherited:
      Privilege.hideMemory()
      try AttesterProcess.serve(settings, on: Descriptor(owning: 0))
    case .serve:
      if let handed = ServiceManager.handedSocket() {
        try Privilege.reduce(to: settings.user)
        try AttesterProcess.serve(settings, on: handed)
      } else {
        try AttesterProcess.serve(settings, on: try AttesterProcess.prepare(settings))
      }
    }
  }
}
