import Glibc
import PosturePlatform

/// Stores a random secret in the default collection of the session that this process runs in, reads it back and deletes
/// it (freedesktop.org Secret Service API). It never prompts, unlocks nothing and starts nothing.
public enum SecretServiceProbe {
  /// Milliseconds.
  public static let timeout: Int64 = 2_000
  private static let gate = Gate()

  /// Waits at most ``timeout``, whatever the bus does.
  public static func run() -> SecretServiceResult {
    let deadline = Clock.boottimeMilliseconds + timeout
    return start(deadline)?.wait(until: deadline) ?? SecretServiceResult(.timeout)
  }

  static func start(_ deadline: Int64, at address: String? = address()) -> Attempt<SecretServiceResult>? {
    Attempt(gate, "secret-service") { examine(address, deadline) }
  }

  /// Where the session's bus listens; nil where there is no session.
  static func address() -> String? {
    if let named = getenv("DBUS_SESSION_BUS_ADDRESS").map({ String(cString: $0) }), !named.isEmpty { return named }
    let socket = "/run/user/\(geteuid())/bus"
    return access(socket, F_OK) == 0 ? "unix:path=\(socket)" : nil
  }

  /// On this thread.
  static func examine(_ address: String?, _ deadline: Int64) -> SecretServiceResult {
    guard let address else { return SecretServiceResult(.noSession) }
    var result = SecretServiceResult(.failed)
    do throws(MessageBus.Failure) {
      let service = SecretService(try MessageBus(address, deadline: deadline))
      guard let provider = try service.provider() else { return SecretServiceResult(.noProvider) }
      result.provider = provider
      guard let collection = try service.defaultCollection() else {
        result.outcome = .noDefault
        return result
      }
      result.collection = collectionName(collection)
      result.outcome = try outcome(service, provider, collection)
    } catch {
      switch error {
      case .timeout: result.outcome = .timeout
      case .noBus where result.provider == nil: result.outcome = .noSession
      case .noBus, .error, .malformed: result.outcome = .failed
      }
    }
    return result
  }

  /// The last part of the path, in which every byte that is no letter or digit stands as `_` and two hexadecimal digits.
  static func collectionName(_ path: String) -> String {
    var out: [UInt8] = []
    var rest = Array(Path.name(of: path).utf8)[...]
    while let byte = rest.popFirst() {
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      if byte == UInt8(ascii: "_"), digits.utf8.count == 2, let value = UInt8(digits, radix: 16) {
        out.append(value)
        rest = rest.dropFirst(2)
      } else {
        out.append(byte)
      }
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Providers that store without asking their user first.
  private static let silent: Set = ["gnome-keyring", "oo7"]

  private static func outcome(
    _ service: SecretService, _ provider: String, _ collection: String
  ) throws(MessageBus.Failure) -> SecretServiceResult.Outcome {
    if try service.isLocked(collection) { return .locked }
    return silent.contains(provider) ? try service.roundTrip(collection) : .unlocked
  }
}

/// The calls of the Secret Service that the round trip takes.
private struct SecretService {
  private static let name = "org.freedesktop.secrets"
  private static let root = "/org/freedesktop/secrets"
  private static let service = "org.freedesktop.Secret.Service"
  private static let collections = "org.freedesktop.Secret.Collection"
  private static let items = "org.freedesktop.Secret.Item"
  private static let properties = "org.freedesktop.DBus.Properties"
  /// Marks our items, so that one that a killed run left behind is found.
  private static let mark = (name: "application", value: "posture-agent-probe")
  private static let noPrompt = "/"

  private let bus: MessageBus

  init(_ bus: MessageBus) { self.bus = bus }

  /// Names of the programs that serve secrets, by what the kernel calls them (at most 15 bytes).
  private static let programs = [
    ("gnome-keyring", "gnome-keyring"), ("kwalletd", "kwallet"), ("ksecretd", "kwallet"), ("keepassxc", "keepassxc"),
    ("oo7", "oo7"), ("pass_secret", "pass-secret-service"), ("pass-secret", "pass-secret-service"),
  ]

  /// Who serves secrets; nil where nobody does.
  func provider() throws(MessageBus.Failure) -> String? {
    guard let owner = try bus.owner(of: Self.name), let pid = try bus.processID(of: owner) else { return nil }
    guard let file = try? Descriptor.open("/proc/\(pid)/comm", O_RDONLY), let bytes = try? file.readAll(cap: 64) else {
      return "unknown"
    }
    let program = String(decoding: bytes, as: UTF8.self).trimmed
    return Self.programs.first { program.hasPrefix($0.0) }?.1 ?? program
  }

  func defaultCollection() throws(MessageBus.Failure) -> String? {
    let path = try bus.call(Self.name, Self.root, Self.service, "ReadAlias") { $0.string("default") }.text
    return path == "/" ? nil : path
  }

  func isLocked(_ collection: String) throws(MessageBus.Failure) -> Bool {
    let reply = try bus.call(Self.name, collection, Self.properties, "Get") {
      $0.string(Self.collections)
      $0.string("Locked")
    }
    guard let isLocked = reply.bool else { throw .malformed }
    return isLocked
  }

  func roundTrip(_ collection: String) throws(MessageBus.Failure) -> SecretServiceResult.Outcome {
    try sweep(collection)
    let opened = try bus.call(Self.name, Self.root, Self.service, "OpenSession") {
      $0.string("plain")
      $0.variant("s") { $0.string("") }
    }
    guard case .text(let session)? = opened.values.last else { throw .malformed }
    let secret = Random.bytes(32)
    let made = try create(collection, session, secret)
    guard case .text(let item)? = made.values.first, case .text(let prompt)? = made.values.last else {
      throw .malformed
    }
    guard prompt == Self.noPrompt else {
      try dismiss(prompt)
      return .refused
    }
    let matches = Result { () throws(MessageBus.Failure) in try holds(item, session, secret) }
    try delete(item)
    return try matches.get() ? .works : .mismatch
  }

  private func create(
    _ collection: String, _ session: String, _ secret: [UInt8]
  ) throws(MessageBus.Failure) -> BusReply {
    try bus.call(Self.name, collection, Self.collections, "CreateItem") { call in
      call.dictionary("{sv}") { properties in
        properties.entry {
          $0.string("\(Self.items).Label")
          $0.variant("s") { $0.string("posture-agent probe") }
        }
        properties.entry {
          $0.string("\(Self.items).Attributes")
          $0.variant("a{ss}", Self.attributes)
        }
      }
      call.structure {
        $0.path(session)
        $0.bytes([])
        $0.bytes(secret)
        $0.string("application/octet-stream")
      }
      call.bool(true)
    }
  }

  private static func attributes(_ writer: inout BusWriter) {
    writer.dictionary("{ss}") {
      $0.entry {
        $0.string(mark.name)
        $0.string(mark.value)
      }
    }
  }

  private func holds(_ item: String, _ session: String, _ secret: [UInt8]) throws(MessageBus.Failure) -> Bool {
    let reply = try bus.call(Self.name, item, Self.items, "GetSecret") { $0.path(session) }
    guard let fields = reply.list, fields.count == 4 else { throw .malformed }
    return fields[2] == .bytes(secret)
  }

  private func delete(_ item: String) throws(MessageBus.Failure) {
    let prompt = try bus.call(Self.name, item, Self.items, "Delete").text
    if let prompt, prompt != Self.noPrompt { try dismiss(prompt) }
  }

  private func dismiss(_ prompt: String) throws(MessageBus.Failure) {
    _ = try bus.call(Self.name, prompt, "org.freedesktop.Secret.Prompt", "Dismiss")
  }

  /// Takes away what a run that was killed half way has left in this collection.
  private func sweep(_ collection: String) throws(MessageBus.Failure) {
    let found = try bus.call(Self.name, collection, Self.collections, "SearchItems", Self.attributes)
    for case .text(let item) in found.list ?? [] { try delete(item) }
  }
}
