import Glibc
import PostureFleet

/// Folders named on the command line.
enum Folder {
  static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The files of a folder with this ending, sorted.
  static func files(_ folder: String, ending: String) throws(HomeError) -> [String] {
    let names = Home.names(in: folder).filter { $0.hasSuffix(ending) }
    guard !names.isEmpty else { throw HomeError(.missing, "\(folder): no file *\(ending)") }
    return names.map { "\(folder)/\($0)" }
  }
}
