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

  /// The most that was resident since the process began, or since 5 was written to /proc/self/clear_refs.
  public static var peakBytes: Int {
    guard let bytes = try? Descriptor.open("/proc/self/status", O_RDONLY).readAll(cap: 8192) else { return 0 }
    let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }.map {
      $0 << 10
    } ?? 0
  }

  public static func forgetPeak() {
    guard let file = try? Descriptor.open("/proc/self/clear_refs", O_WRONLY) else { return }
    try? file.writeAll([UInt8(ascii: "5")])
  }

  public static var openDescriptors: Int { FolderListing.names("/proc/self/fd").count }
}
