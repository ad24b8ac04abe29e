/// A file name pattern that is tried once: `*` and `?` do not pass over a slash (glob(7)).
enum Glob {
  static func matches(_ text: String, _ pattern: String) -> Bool {
    ShellPattern(pattern, stopsAtSlash: true).matches(text)
  }
}
