import PostureFleet
import PostureTerminal

/// `--history FILE`, else the one in the folder.
enum HistoryOption {
  case file(String)
  case home(HomeOption)

  init(_ arguments: inout Arguments) throws(UsageError) {
    if let file = try arguments.option("--history") {
      self = .file(file)
      // Nothing of the folder is needed then, but it may be named.
      _ = try arguments.option("--home")
    } else {
      self = .home(try HomeOption(&arguments))
    }
  }

  func path() throws(HomeError) -> String {
    switch self {
    case .file(let file): file
    case .home(let home): try home.open().path(Home.File.history)
    }
  }
}
