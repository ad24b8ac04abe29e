import Glibc
import PosturePlatform

/// What this process uses.
public enum Measure {
  /// Bytes of resident memory.
  public static var residentBytes: Int { residentBytes(of: "self") }

  /// The same of another process.
  public static func residentBytes(of process: String) -> Int {
    guard let bytes = try? Descriptor.open("/proc/\(process)/statm", O_RDONLY).readAll(cap: 256) else { return 0 }
    let pages = String(decoding: bytes, as: UTF8.self).split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return (pages ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  public static var openDescriptors: Int { FolderListing.names("/proc/self/fd").count }
}
