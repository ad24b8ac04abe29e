import Glibc
public import PosturePlatform

/// Files of this repository, and of the folder beside it.
public enum Repository {
  public static let root: String = {
    // Tests/TestKit/Repository.swift
    let here = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    return "/" + here
  }()

  public static func path(_ relative: String) -> String { Path.join(root, relative) }
}

/// Names in a folder of a test, sorted.
public enum FolderListing {
  public static func names(_ path: String) -> [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }
}

extension AtomicFile {
  /// A fixture, whoever may write it.
  public static func readAny(_ path: String) throws -> [UInt8] {
    try Descriptor.open(path, O_RDONLY).readAll(cap: 64 << 20, path) ?? []
  }
}
