import Posture
import PosturePlatform
import Synchronization

/// The PAM configuration of the system, and what each service asks of each person.
struct PAM: Sendable {
  /// How an application calls.
  struct Call: Sendable, Hashable {
    var service: String
    /// PAM_DISALLOW_NULL_AUTHTOK.
    var disallowsEmpty = false
    /// The account phase follows (everything but screen lockers).
    var withAccountPhase = true
    /// Authentication is skipped (`login -f`, autologin, SSH keys): only the account phase counts.
    var skipsAuthentication = false
    /// PAM_RHOST is set.
    var isRemote = false
    /// Name of the user who calls, where that is not the target (su, sudo, polkit); nil: the target, or root.
    var caller: String?
    /// uid the calling process has; login, getty and display managers call as 0, screen lockers as the user.
    var callerUID: UInt32 = 0
    /// PAM_TTY.
    var terminal: String?

    /// PAM_SILENT: sudo lets no module say anything.
    var isSilent: Bool { ["sudo", "sudo-i"].contains(service) }

    init(_ service: String) { self.service = service }
  }

  /// What a call comes to.
  struct Outcome: Sendable {
    /// nil: something that decides could not be read or is not modelled.
    var opening: Opening?
    /// Files and lines that decided, in order.
    var because: [Reason]
    /// For an open or unknown outcome: the root cause.
    var cause: Cause?
  }

  enum Group: String, Sendable { case auth, account, password, session }

  struct Line: Sendable {
    /// Base name: `pam_unix.so`.
    var module: String
    var arguments: [String]
    var place: Place
    /// The module's file is installed.
    var isInstalled: Bool
  }

  let system: System
  let accounts: Accounts
  let version: Version?
  let dialect: Dialect
  let modules: ModuleFolders
  private let files: Files
  private let memory = Memory()

  init(_ system: System, _ distribution: Distribution, _ accounts: Accounts) {
    self.system = system
    self.accounts = accounts
    let isDebian = distribution.isDebian
    version = Version.find(system, distribution)
    dialect = Dialect(version: version, isDebian: isDebian)
    modules = ModuleFolders(system)
    files = Files(system, distribution, isDebian: isDebian, version)
  }

  /// Which factors of `account` (or of the external subject, where nil) this call accepts.
  func outcome(of call: Call, for account: Account?) -> Outcome {
    memory.outcome(call, account?.name) { Examination(self, call, account).outcome() }
  }

  /// Whether a file of this service exists anywhere on the search path (or a line of pam.conf).
  func hasService(_ name: String) -> Bool {
    let name = Self.serviceName(name)
    if files.usesFolders {
      guard case .failure(let error) = files.find(name, isInclude: false) else { return true }
      return error.reason != .missing
    }
    return configuration?.lines.contains { $0.service == name } ?? false
  }

  /// The lines of `group` that `service` runs, includes expanded, in order, with where each stands.
  func lines(of service: String, _ group: Group) -> [Line] {
    guard case .success(let stacks) = stacks(of: service) else { return [] }
    return stacks[group].filter { $0.kind == .module }.map { entry in
      Line(
        module: Path.name(of: entry.module), arguments: entry.arguments, place: entry.place,
        isInstalled: modules.has(entry.module) && !ModuleModels.isRemoved(entry.name, self))
    }
  }

  typealias Loaded = Result<ServiceStacks, StackBuilder.Abort>

  /// libpam takes the last component in lower case.
  static func serviceName(_ service: String) -> String { ASCII.lowercased(Path.name(of: service)) }

  func stacks(of service: String) -> Loaded {
    let name = Self.serviceName(service)
    return memory.stacks(name) { load(name) }
  }

  private func load(_ name: String) -> Loaded {
    do throws(StackBuilder.Abort) {
      return .success(
        files.usesFolders ? try ServiceStacks(name, dialect, files.find) : try loadConfiguration(name))
    } catch { return .failure(error) }
  }

  // MARK: pam.conf

  private var configuration: (lines: [(service: String, line: LogicalLine)], isBroken: Bool)? {
    guard case .success(let file) = files.read("/etc/pam.conf") else { return nil }
    let read = Lines(file.bytes, dialect.lines)
    let lines = read.lines.map { line in
      var words = Words(line.text)
      let service = ASCII.lowercased(words.next() ?? [])
      return (service, LogicalLine(text: words.remainder, number: line.number))
    }
    return (lines, read.isBroken)
  }

  private func loadConfiguration(_ name: String) throws(StackBuilder.Abort) -> ServiceStacks {
    if case .failure(let error) = files.read("/etc/pam.conf"), error.reason != .missing {
      var doubtful = Stacks()
      doubtful.doubt = Cause(
        "unreadable", observed: "\(error.path) \(error.reason.words)", evidence: [Place(error.path)])
      return ServiceStacks(own: doubtful)
    }
    guard let configuration else { throw StackBuilder.Abort(place: Place("/etc/pam.conf")) }
    func read(_ service: String) throws(StackBuilder.Abort) -> Stacks {
      var builder = StackBuilder(dialect, files.find)
      let lines = configuration.lines.filter { $0.service == service }.map(\.line)
      try builder.read(lines: lines, path: "/etc/pam.conf", isBroken: configuration.isBroken)
      return builder.stacks
    }
    return ServiceStacks(own: name == "other" ? Stacks() : try read(name), other: try read("other"))
  }

  /// Stacks are read once for all accounts, and each call is thought through once for each of them.
  private final class Memory: Sendable {
    private struct Question: Hashable {
      var call: Call
      var account: String?
    }
    private let known = Mutex<[String: Loaded]>([:])
    private let outcomes = Mutex<[Question: Outcome]>([:])

    func outcome(_ call: Call, _ account: String?, _ find: () -> Outcome) -> Outcome {
      let question = Question(call: call, account: account)
      if let outcome = outcomes.withLock({ $0[question] }) { return outcome }
      let outcome = find()
      outcomes.withLock { $0[question] = outcome }
      return outcome
    }

    func stacks(_ name: String, _ load: () -> Loaded) -> Loaded {
      if let loaded = known.withLock({ $0[name] }) { return loaded }
      let loaded = load()
      known.withLock { $0[name] = loaded }
      return loaded
    }
  }
}

extension PAM.Dialect {
  /// Without a known version, the rules of today.
  init(version: PAM.Version?, isDebian: Bool) {
    let version = version ?? PAM.Version(1, 7)
    lines = version < PAM.Version(1, 6) ? .before16 : .since16
    hasAtInclude = isDebian
    limitsIncludes = version >= PAM.Version(1, 6)
  }
}
