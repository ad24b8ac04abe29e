import Glibc
public import Posture
import PosturePlatform

/// The folder of an operator: keys, credentials and settings of one site, as `posturectl init` makes it.
///
/// A machine that only rechecks needs `posture.json`, `root.jwk`, `tls/ca.pem` and `controller/`; the key of the root, in
/// `root/`, is best kept elsewhere.
public struct Home: Sendable {
  public let folder: String
  public let settings: Settings

  public init(folder: String, settings: Settings) {
    self.folder = folder
    self.settings = settings
  }

  /// Reads the settings of an existing folder.
  public static func open(_ folder: String) throws(HomeError) -> Home {
    let folder = absolute(folder)
    let file = Path.join(folder, Settings.file)
    let json = try read(json: file)
    do throws(ClaimError) { return Home(folder: folder, settings: try Settings(json: json)) } catch {
      throw HomeError(.damaged, "\(file): \(error)")
    }
  }

  /// Brokers do not take relative paths.
  public static func absolute(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    guard let current = getcwd(nil, 0) else { return path }
    defer { free(current) }
    return Path.join(String(cString: current), path)
  }

  public var site: Name { settings.site }
  public func path(_ name: String) -> String { Path.join(folder, name) }

  public enum File {
    public static let root = "root.jwk"
    public static let rootKey = "root/root.key"
    public static let authority = "tls/ca.pem"
    public static let authorityKey = "tls/ca.key"
    static let trustFolder = "trust"
    public static let trust = "trust/trust.jwt"
    public static let trustState = "trust/state.json"
    public static let devices = "devices"
    public static let broker = "broker"
    public static let history = "monitor/history.db"
  }

  /// The pinned root.
  public func root() throws(HomeError) -> JWK {
    let file = path(File.root)
    let json = try Self.read(json: file)
    do throws(ClaimError) { return try JWK(claims: json, in: "root") } catch {
      throw HomeError(.damaged, "\(file): \(error)")
    }
  }

  // MARK: Files

  public static func read(_ file: String, cap: Int = 1 << 20) throws(HomeError) -> [UInt8] {
    do throws(SystemError) { return try AtomicFile.read(file, cap: cap) } catch {
      throw HomeError(error.isMissing ? .missing : .system, error.description)
    }
  }

  public static func read(text file: String) throws(HomeError) -> String {
    guard let text = String(validating: try read(file), as: UTF8.self) else {
      throw HomeError(.damaged, "\(file): not UTF-8")
    }
    return text.last == "\n" ? String(text.dropLast()) : text
  }

  public static func read(json file: String, cap: Int = 16 << 20) throws(HomeError) -> JSON {
    let bytes = try read(file, cap: cap)
    do throws(JSONError) { return try JSONParser.parse(bytes, limits: .init(bytes: cap, depth: 16)) } catch {
      throw HomeError(.damaged, "\(file): \(error)")
    }
  }

  /// Replaces the file as a whole, 0600.
  public static func write(_ text: String, to file: String) throws(HomeError) {
    do throws(SystemError) { try AtomicFile.write(Array(text.utf8), to: file) } catch {
      throw HomeError(.system, error.description)
    }
  }

  /// Makes a folder, 0700; one that is there is left as it is.
  public static func makeFolder(_ path: String) throws(HomeError) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw HomeError(.system, SystemError.current("make folder", path).description)
    }
  }

  /// Runs `body` alone among all processes that change what is in `folder`: what it reads there is true until it has
  /// written. One inside another for the same folder never ends.
  func locked<Result>(_ folder: String, _ body: () throws -> Result) throws -> Result {
    let file = path("\(folder)/lock")
    let lock = try Descriptor.open(file, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
    try retrying("lock", file) { flock(lock.number, LOCK_EX) }
    return try withExtendedLifetime(lock) { try body() }
  }

  /// Where the monitor keeps its history, its folder made.
  public static func prepareHistory(_ home: Home) throws(HomeError) -> String {
    let path = home.path(File.history)
    try makeFolder(Path.folder(of: path))
    return path
  }

  /// Names in a folder, sorted; none where it is not there.
  public static func names(in folder: String) -> [String] {
    (try? Directory.names(in: folder)) ?? []
  }
}
