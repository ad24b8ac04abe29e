import CLinux
public import Glibc
public import Posture
public import PosturePlatform

/// The attester as a process: alone under a service manager, or kept alive by one of its own kind.
public enum AttesterProcess {
  /// Answers on `listener` until it is told to end. Privileges have been given up already.
  public static func serve(_ settings: AttesterSettings, on listener: consuming Descriptor) throws(AttesterError) {
    let key = try DeviceIdentity.key(settings.folder, of: nil)
    let identity = try DeviceIdentity.load(settings.folder, key: key)
    var options = Attester.Options()
    if let life = settings.reportLife { options.reportLife = life }
    let attester = try Attester(
      folder: settings.folder, identity: identity, clock: .system(isTrusted: settings.trustsClock), options: options)
    let service = AttesterService(attester, root: settings.root, listener: listener, courier: settings.courier)
    do throws(SystemError) { try service.run() } catch { throw AttesterError(.internal, error.description) }
  }

  /// Makes the socket and gives up privileges.
  public static func prepare(_ settings: AttesterSettings) throws(SystemError) -> Descriptor {
    // /run is empty after each start of the machine, and only a service manager fills it.
    let listener = try UnixSocket.listen(
      settings.socket, owner: geteuid() == 0 ? settings.courier : nil, folder: 0o755)
    try Privilege.reduce(to: settings.user)
    return listener
  }

  /// Keeps a serving process alive on one socket, so that nobody who is connected later notices that it fell over, or hung.
  /// Returns after SIGTERM or SIGINT, and when `parent`, the reading end of a pipe, has lost its writer.
  public static func keep(_ settings: AttesterSettings, parent: Int32 = -1) throws(SystemError) {
    let listener = try prepare(settings)
    let signals = Descriptor(owning: try retrying("signalfd") { clinux_signals_and_children() })
    var keeper = try Keeper(
      arguments: ["attest", "--inherited"] + settings.arguments, signals: signals.number, parent: parent)
    try keeper.run(listener.number)
  }

  /// A keeper that this process started. It ends when this is dropped, and when this process ends however it does.
  public struct Kept: ~Copyable {
    public let pid: pid_t
    /// The kernel would not deliver a signal from us: the other has become another user.
    private let line: Descriptor

    fileprivate init(pid: pid_t, line: consuming Descriptor) {
      self.pid = pid
      self.line = line
    }
  }

  /// Starts ``keep(_:parent:)`` in a process of this binary. As root that changes to ``AttesterSettings/user`` by itself.
  public static func start(_ settings: AttesterSettings) throws(SystemError) -> Kept {
    let pipe = try Pipe()
    let pid = try Command.spawn(
      "/proc/self/exe", ["attest", "--keep", "--with-parent"] + settings.arguments,
      ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"], in: pipe.reader.number, out: 1, err: 2)
    return Kept(pid: pid, line: pipe.takeWriter())
  }

  /// The same evidence as ``Attester/token(of:under:)`` where no attester runs. As root it reads and writes as the owner of
  /// the attester's folder. Throws `busy` where one runs.
  public static func sign(
    _ evidence: Evidence, under policy: Policy, _ settings: AttesterSettings
  ) throws(AttesterError) -> String {
    var status = stat()
    let isThere = stat(settings.folder.attester, &status) == 0
    guard isThere else { throw AttesterError(.notEnrolled, "\(settings.folder.attester) is missing") }
    let owner = status.st_uid == 0 ? nil : Privilege.User(uid: status.st_uid, gid: status.st_gid)
    var options = Attester.Options()
    if let life = settings.reportLife { options.reportLife = life }
    // Root may use the TPM, the attester's user only as a member of its group.
    let key = try DeviceIdentity.key(settings.folder, of: owner)
    return try Privilege.acting(as: owner) { () throws(AttesterError) in
      let attester = try Attester(
        folder: settings.folder, identity: try DeviceIdentity.load(settings.folder, key: key),
        clock: .system(isTrusted: settings.trustsClock), options: options)
      return try attester.token(of: evidence, under: policy)
    }
  }
}
