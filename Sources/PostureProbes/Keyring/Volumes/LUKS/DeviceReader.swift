import Glibc
import PosturePlatform

/// A block device, or an image of one, that is read in pieces.
struct DeviceReader: ~Copyable {
  private let descriptor: Descriptor
  private let path: String

  /// `missing` and `denied` are told apart; whatever is neither a device nor a regular file is `notRegular`.
  init(_ system: System, _ path: String) throws(System.Unreadable) {
    self.path = path
    let status = try system.status(path)
    guard status.kind == .regular || status.kind == .block else { throw .notRegular }
    descriptor = try system.descriptor(path)
  }

  /// nil where the device ends before.
  func read(_ offset: Int, _ count: Int) throws(System.Unreadable) -> [UInt8]? {
    var done = 0
    var bytes = [UInt8](repeating: 0, count: count)
    while done < count {
      let got: Int
      do throws(SystemError) {
        got = try retrying("pread", path) {
          bytes.withUnsafeMutableBytes {
            pread(descriptor.number, $0.baseAddress! + done, count - done, off_t(offset + done))
          }
        }
      } catch { throw .other(error.errno) }
      if got == 0 { return nil }
      done += got
    }
    return bytes
  }
}

extension System {
  /// For what is read in pieces. Whoever calls it has looked at what kind of file it is.
  func descriptor(_ path: String) throws(Unreadable) -> Descriptor {
    do throws(SystemError) {
      return Descriptor(owning: try open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY))
    } catch { throw error.isDenied ? .denied : error.isMissing ? .missing : .other(error.errno) }
  }
}
