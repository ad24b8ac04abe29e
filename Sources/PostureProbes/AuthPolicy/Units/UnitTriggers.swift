extension Unit {
  /// What a timer or a path starts sooner or later, and a socket on a connection: where nothing is said the service of its
  /// own name, a template where each connection has one.
  var triggered: String? {
    let stem = name.text.dropLast(name.type.count + 1)
    switch name.type {
    case "timer": return named("Unit", in: "Timer") ?? "\(stem).service"
    case "path": return named("Unit", in: "Path") ?? "\(stem).service"
    case "socket":
      let accepts = last("Accept", in: "Socket").flatMap { SystemdBoolean.parse($0.value) } ?? false
      return named("Service", in: "Socket") ?? (accepts ? "\(stem)@.service" : "\(stem).service")
    default: return nil
    }
  }

  private func named(_ key: String, in section: String) -> String? {
    last(key, in: section).flatMap { $0.value.isEmpty ? nil : expand($0.value) }
  }
}
