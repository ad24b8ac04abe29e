/// Paths with wildcards in any component, as glob(3) finds them.
enum PathPattern {
  /// The paths that match, sorted; a path without wildcards as it is, there or not.
  static func paths(_ pattern: String, _ system: System) -> [String] {
    var paths = [""]
    for part in pattern.split(separator: "/").map(String.init) {
      let isPlain = !part.contains { "*?[".contains($0) }
      paths = paths.flatMap { folder -> [String] in
        if isPlain { return ["\(folder)/\(part)"] }
        let names = (try? system.list(folder.isEmpty ? "/" : folder)) ?? []
        let pattern = ShellPattern(part)
        return names.filter { (!$0.hasPrefix(".") || part.hasPrefix(".")) && pattern.matches($0) }
          .map { "\(folder)/\($0)" }
      }
      if paths.count > 4096 { return [] }
    }
    return paths
  }
}
