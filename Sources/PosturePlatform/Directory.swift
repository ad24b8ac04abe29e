import Glibc

/// What a directory holds.
public enum Directory {
  /// Makes one for this process's user alone; the caller removes it.
  public static func makeTemporary(_ name: String, in parent: String = "/tmp") throws(SystemError) -> String {
    var template = Array("\(parent)/\(name).XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw .current("make a temporary folder", parent) }
    return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Removes a directory with all that is in it; links are removed and not followed.
  public static func remove(_ path: String) throws(SystemError) {
    for name in try names(Descriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path) {
      let inner = Path.join(path, name)
      if unlink(inner) == 0 { continue }
      guard errno == EISDIR else { throw .current("remove", inner) }
      try remove(inner)
    }
    try retrying("remove", path) { rmdir(path) }
  }

  /// Names in a directory, sorted by bytes, without "." and ".."; EFBIG where there are more than `cap`.
  public static func names(in path: String, cap: Int = .max) throws(SystemError) -> [String] {
    try names(Descriptor.open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK), path, cap: cap)
  }

  /// The same of an open directory, which is closed.
  public static func names(
    _ directory: consuming Descriptor, _ path: String, cap: Int = .max
  ) throws(SystemError) -> [String] {
    try entries(directory, path, cap: cap).map(\.name)
  }

  /// What a directory says of one name in it.
  public struct Entry: Sendable {
    public let name: String
    /// DT_LNK, DT_BLK …; DT_UNKNOWN on file systems that do not tell.
    let type: UInt8

    public func mayBe(_ type: Int) -> Bool { Int(self.type) == type || Int(self.type) == DT_UNKNOWN }
  }

  /// The same with what kind of thing each is.
  public static func entries(
    _ directory: consuming Descriptor, _ path: String, cap: Int = .max
  ) throws(SystemError) -> [Entry] {
    let number = directory.release()
    guard let stream = fdopendir(number) else {
      let error = SystemError.current("list", path)
      close(number)
      throw error
    }
    defer { closedir(stream) }
    var entries: [Entry] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." {
        entries.append(Entry(name: name, type: entry.pointee.d_type))
      }
      if entries.count > cap { throw SystemError(EFBIG, doing: "list", path: path) }
    }
    return entries.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }
}
