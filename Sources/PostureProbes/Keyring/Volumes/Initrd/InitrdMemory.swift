import Glibc
import PosturePlatform
import Synchronization

/// What was found in images before: unpacking one takes a good part of a second, and an agent examines again and again.
final class InitrdMemory: Sendable {
  static let shared = InitrdMemory()

  typealias Found = Result<InitrdDigest, InitrdFault>

  /// The file as it was; whoever changes one changes its time of change, which nobody can set.
  private struct Key: Hashable {
    var numbers: [Int]
    var section: Range<Int>?
  }

  /// The last ones that were read; a machine starts from one.
  private let known = Mutex<[(key: Key, found: Found)]>([])
  private static let most = 4
  private let settling: Int

  /// - Parameter settling: seconds after a change in which another one could have the same time.
  init(settling: Int = 2) { self.settling = settling }

  /// What `read` finds in the file, read once as long as it stays the same.
  func found(_ system: System, _ path: String, section: Range<Int>?, _ read: () -> Found) -> Found {
    guard let file = try? system.descriptor(path), let status = try? file.status(path) else { return read() }
    let key = Self.key(status, section)
    if let before = known.withLock({ $0.first { $0.key == key } }) { return before.found }
    let found = read()
    guard Self.isLasting(found), Int(Clock.wall) - status.st_ctim.tv_sec > settling else { return found }
    known.withLock {
      if $0.count == Self.most { $0.removeFirst() }
      $0.append((key, found))
    }
    return found
  }

  private static func key(_ status: stat, _ section: Range<Int>?) -> Key {
    Key(
      numbers: [
        Int(status.st_dev), Int(status.st_ino), Int(status.st_size), status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
        status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
      ], section: section)
  }

  /// A file that could not be read, or a library that was missing, may be there the next time.
  private static func isLasting(_ found: Found) -> Bool {
    switch found {
    case .success, .failure(.noArchive), .failure(.damaged), .failure(.tooLarge), .failure(.tooSlow): true
    case .failure(.unreadable), .failure(.noLibrary): false
    }
  }
}
