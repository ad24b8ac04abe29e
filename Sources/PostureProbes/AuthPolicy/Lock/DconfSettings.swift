import Posture

/// The settings of one user as dconf and GSettings give them: the databases of the profile, locks, the schema's default.
struct DconfSettings {
  private struct Source {
    var database: GVDB
    var path: String
    var isUser: Bool
  }

  private let sources: [Source]
  private let schemas: SchemaDefaults

  /// Of a session that calls itself by one of the names `desktops`.
  init(_ home: UserFiles, desktops: [String] = []) throws(UserFiles.Fault) {
    schemas = SchemaDefaults(home.system, desktops)
    sources = try Self.sources(Self.profile("user", home.system) ?? ["user-db:user"], home.system, home)
  }

  /// Of gdm's greeter.
  init(greeter system: System, _ account: Account?) throws(UserFiles.Fault) {
    schemas = SchemaDefaults(system, ["GNOME-Greeter", "GNOME"])
    let home = account.map { UserFiles($0, system) }
    sources = try Self.sources(Self.profile("gdm", system) ?? [], system, home)
  }

  /// dconf(7): what databases there are; without the profile `user` that is the user's own alone.
  private static func profile(_ name: String, _ system: System) -> [String]? {
    let paths = ["/etc/dconf/profile/\(name)", "/run/dconf/profile/\(name)", "/usr/share/dconf/profile/\(name)"]
    return paths.lazy.compactMap(system.text).first.map { text in
      text.lines().map { $0.prefix { $0 != "#" }.trimmed }
    }
  }

  private static func sources(
    _ lines: [String], _ system: System, _ home: UserFiles?
  ) throws(UserFiles.Fault) -> [Source] {
    var sources: [Source] = []
    for line in lines {
      if let source = try source(of: line, system, home) { sources.append(source) }
    }
    return sources
  }

  private static func source(
    of line: String, _ system: System, _ home: UserFiles?
  ) throws(UserFiles.Fault) -> Source? {
    let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { return nil }
    switch parts[0] {
    case "user-db":
      let name = ".config/dconf/\(parts[1])"
      guard let home, let bytes = try home.bytes(name) else { return nil }
      return database(bytes, home.path(name), isUser: true)
    case "system-db": return try compiled(system, "/etc/dconf/db/\(parts[1])")
    case "file-db": return try compiled(system, parts[1])
    default: return nil
    }
  }

  /// Only what is compiled counts.
  private static func compiled(_ system: System, _ path: String) throws(UserFiles.Fault) -> Source? {
    do throws(System.Unreadable) { return database(try system.read(path).bytes, path, isUser: false) } catch {
      if error == .missing { return nil }
      throw UserFiles.Fault(path, error)
    }
  }

  private static func database(_ bytes: [UInt8], _ path: String, isUser: Bool) -> Source? {
    GVDB(bytes).map { Source(database: $0, path: path, isUser: isUser) }
  }

  struct Value<Content: Sendable>: Sendable {
    var content: Content
    /// nil: the schema's own default.
    var place: Place?
  }

  func boolean(_ key: DconfKey, default: Bool) -> Value<Bool> {
    value(key, "b") { database, variant in database.boolean(variant) } ?? Value(content: `default`, place: nil)
  }

  /// `type`: the one that the key's schema gives it, "u" or "i".
  func integer(_ key: DconfKey, _ type: String = "u", default: Int) -> Value<Int> {
    value(key, type) { database, variant in database.integer(variant) } ?? Value(content: `default`, place: nil)
  }

  private func value<Content>(
    _ key: DconfKey, _ type: String, _ read: (GVDB, (type: String, data: [UInt8])) -> Content?
  ) -> Value<Content>? {
    // A lock in a database hides every database before it.
    let locked = sources.lastIndex { !$0.isUser && $0.database.contains(key.path, table: ".locks") } ?? 0
    for source in sources.dropFirst(locked) {
      guard let variant = source.database.value(key.path) else { continue }
      // A value of another type hides those behind it all the same: GSettings falls back to the schema alone.
      guard variant.type == type, let content = read(source.database, variant) else { break }
      return Value(content: content, place: Place(source.path))
    }
    return schemas.value(key, read)
  }
}

/// A key of GSettings, by schema and by path.
struct DconfKey {
  /// `org.gnome.desktop.session`
  let schema: String
  let name: String

  init(_ schema: String, _ name: String) {
    self.schema = schema
    self.name = name
  }

  /// `/org/gnome/desktop/session/idle-delay`
  var path: String { "/\(schema.substituting(".", with: "/"))/\(name)" }
}

/// Defaults as compiled into the schemas, a vendor's overrides included.
struct SchemaDefaults {
  private static let path = "/usr/share/glib-2.0/schemas/gschemas.compiled"
  private let compiled: GVDB?
  /// Whose overrides of their own count, the first that has one.
  private let desktops: [String]

  init(_ system: System, _ desktops: [String]) {
    self.desktops = desktops
    compiled = (try? system.read(Self.path, cap: 8 << 20)).flatMap { GVDB($0.bytes) }
  }

  func value<Content>(
    _ key: DconfKey, _ read: (GVDB, (type: String, data: [UInt8])) -> Content?
  ) -> DconfSettings.Value<Content>? {
    guard let compiled, let variant = compiled.value(key.name, table: key.schema) else { return nil }
    let own = desktops.lazy.compactMap { compiled.override(variant, of: $0) }.first
    guard let content = read(compiled, own ?? variant) else { return nil }
    return DconfSettings.Value(content: content, place: Place(Self.path))
  }
}
