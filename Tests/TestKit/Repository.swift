import Glibc
public import PosturePlatform

/// Files of this repository, and of the folder beside it.
public enum Repository {
  public static let root: String = {
    // Tests/TestKit/Repository.swift
    let here = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    return "/" + here
  }()

  /// The folder of the build that this test belongs to.
  public static let products = Path.folder(of: Process.executable)

  /// The compiler that PATH names.
  public static let swiftc: String? = {
    let folders = getenv("PATH").map { String(cString: $0) }?.split(separator: ":") ?? []
    return folders.map { "\($0)/swiftc" }.first { access($0, X_OK) == 0 }
  }()

  public static func path(_ relative: String) -> String { Path.join(root, relative) }
}

/// This process.
enum Process {
  static let executable: String = {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = buffer.withUnsafeMutableBytes { bytes in
      readlink("/proc/self/exe", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
  }()
}

/// Names in a folder of a test, sorted.
public enum FolderListing {
  public static func names(_ path: String) -> [String] {
    ((try? Directory.names(in: path)) ?? []).filter { !$0.hasPrefix(".") }
  }
}

extension AtomicFile {
  /// A fixture, whoever may write it.
  public static func readAny(_ path: String) throws -> [UInt8] {
    try Descriptor.open(path, O_RDONLY).readAll(cap: 64 << 20, path) ?? []
  }
}
