import CLinux
public import Glibc

/// Runs a program of the system to its end: absolute path, fixed environment, bounded time and output.
public struct Command: Sendable {
  public struct Output: Sendable {
    /// Exit status, or 128 + the signal.
    public var status: Int32
    public var out: [UInt8]
    public var err: [UInt8]
  }

  public enum Failure: Error, Hashable, Sendable {
    case start(SystemError)
    case timeout
    case tooMuchOutput
  }

  public var path: String
  public var arguments: [String]
  /// `NAME=value`; nothing is inherited.
  public var environment: [String] = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]
  public var input: [UInt8] = []
  /// Milliseconds.
  public var timeout: Int64 = 5_000
  /// Bytes of standard output and of standard error, each.
  public var cap = 4 << 20

  public init(_ path: String, _ arguments: [String] = []) {
    self.path = path
    self.arguments = arguments
  }

  public func run() throws(Failure) -> Output { try start().finish() }

  /// Starts the program, to be waited for later.
  public func start() throws(Failure) -> RunningCommand {
    do throws(SystemError) { return try RunningCommand(self) } catch { throw .start(error) }
  }

  /// Starts a program; the caller waits for it. It dies with the thread that called this.
  public static func spawn(
    _ path: String, _ arguments: [String], _ environment: [String], in input: Int32, out: Int32, err: Int32
  ) throws(SystemError) -> pid_t {
    let pid = withCStrings([path] + arguments) { argv in
      withCStrings(environment) { envp in clinux_spawn(path, argv, envp, input, out, err) }
    }
    guard pid > 0 else { throw .current("start", path) }
    return pid
  }

  /// Exit status, or 128 + the signal that ended it.
  public static func wait(_ pid: pid_t) throws(SystemError) -> Int32 {
    var status: Int32 = 0
    try retrying("wait") { waitpid(pid, &status, 0) }
    return clinux_exited(status) ? clinux_exit_status(status) : 128 + clinux_term_signal(status)
  }
}

/// A program that is under way. It dies with the thread that started it, and where nobody waits for it.
public struct RunningCommand: ~Copyable, Sendable {
  private var exchange: Exchange
  private let child: Child
  private let timeout: Int64

  fileprivate init(_ command: Command) throws(SystemError) {
    exchange = Exchange(input: command.input, cap: command.cap)
    child = Child(pid: try exchange.start(command))
    timeout = command.timeout
  }

  /// Waits for its end, as long as the command allows from now on.
  public consuming func finish() throws(Command.Failure) -> Command.Output {
    if let failure = exchange.pump(until: Clock.boottimeMilliseconds + timeout) { throw failure }
    do throws(SystemError) {
      return Command.Output(status: try child.wait(), out: exchange.out, err: exchange.err)
    } catch { throw .start(error) }
  }
}

/// A process that is killed, with all that it started, unless it is waited for.
// Not private: Swift 6.3 refers to it from the modules that use RunningCommand.
struct Child: ~Copyable {
  let pid: pid_t

  deinit {
    kill(-pid, SIGKILL)
    _ = try? Command.wait(pid)
  }

  /// Its exit status.
  consuming func wait() throws(SystemError) -> Int32 {
    let pid = pid
    discard self
    return try Command.wait(pid)
  }
}

/// Feeds a child and collects what it says.
private struct Exchange: ~Copyable {
  private var toChild: Descriptor?
  private var fromOut: Descriptor?
  private var fromErr: Descriptor?
  private var input: ArraySlice<UInt8>
  private let cap: Int
  private(set) var out: [UInt8] = []
  private(set) var err: [UInt8] = []

  init(input: [UInt8], cap: Int) {
    self.input = input[...]
    self.cap = cap
  }

  /// Starts the child with a pipe at each of its three standard descriptors.
  mutating func start(_ command: Command) throws(SystemError) -> pid_t {
    let standardIn = try Pipe()
    let standardOut = try Pipe()
    let standardErr = try Pipe()
    let pid = try Command.spawn(
      command.path, command.arguments, command.environment, in: standardIn.reader.number,
      out: standardOut.writer.number, err: standardErr.writer.number)
    _ = fcntl(standardIn.writer.number, F_SETFL, O_NONBLOCK)
    toChild = input.isEmpty ? nil : standardIn.takeWriter()
    fromOut = standardOut.takeReader()
    fromErr = standardErr.takeReader()
    return pid
  }

  mutating func pump(until deadline: Int64) -> Command.Failure? {
    while fromOut != nil || fromErr != nil {
      let left = deadline - Clock.boottimeMilliseconds
      guard left > 0 else { return .timeout }
      var polled = [
        pollfd(fd: Self.number(fromOut), events: Int16(POLLIN), revents: 0),
        pollfd(fd: Self.number(fromErr), events: Int16(POLLIN), revents: 0),
        pollfd(fd: Self.number(toChild), events: Int16(POLLOUT), revents: 0),
      ]
      guard poll(&polled, 3, Int32(min(left, 60_000))) > 0 else { continue }
      if polled[2].revents != 0 { feed() }
      if polled[0].revents != 0, !Self.drain(fromOut, into: &out) { fromOut = nil }
      if polled[1].revents != 0, !Self.drain(fromErr, into: &err) { fromErr = nil }
      if out.count > cap || err.count > cap { return .tooMuchOutput }
    }
    return nil
  }

  /// poll(2) passes over negative numbers.
  private static func number(_ descriptor: borrowing Descriptor?) -> Int32 {
    switch descriptor {
    case .some(let descriptor): descriptor.number
    case .none: -1
    }
  }

  private mutating func feed() {
    let count = input.withUnsafeBytes { clinux_write_quietly(Self.number(toChild), $0.baseAddress, UInt64($0.count)) }
    if count > 0 { input = input.dropFirst(Int(count)) }
    // A child that closes its input early has read what it wanted.
    if input.isEmpty || (count < 0 && errno != EAGAIN && errno != EINTR) { toChild = nil }
  }

  /// False at the end.
  private static func drain(_ from: borrowing Descriptor?, into bytes: inout [UInt8]) -> Bool {
    guard let chunk = try? Descriptor.read(number(from), 65_536), !chunk.isEmpty else { return false }
    bytes += chunk
    return true
  }
}

/// Null-terminated array of C strings for the time of `body`.
func withCStrings<Result>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
  let copies = strings.map { strdup($0) }
  defer { copies.forEach { free($0) } }
  return body(copies + [nil])
}
