import Glibc
import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal
import PostureTokens

/// `posturectl enroll`: takes a device in.
struct EnrollVerb: Verb {
  static let name = "enroll"
  static let summary = "sign the credential and certificate of a device that asks for it"
  static let help = """
    usage: posturectl enroll FILE|DIR [--name NAME] [--group GROUP]... [--days N] [--out FILE] [--replace]
                             [--json] [--home DIR]
           posturectl enroll FILE|DIR --show [--json] [--home DIR]

    FILE is the request that `posture-agent enroll` printed; of a DIR every file *.request is taken. Shows each request,
    signs it, and writes the bundle that the device installs beside it (FILE.bundle, or --out FILE; - is standard output).
    Compare the kid with the one that the device shows before you hand the bundle over. A request that is refused is named,
    and the others are taken; exit status 70.

      --name NAME      the device's name, instead of the one it asks for
      --group GROUP    groups it belongs to
      --days N         how long credential and certificate are good for (default: 365)
      --replace        the name is known with another key: add this one
      --show           only show the requests
    """

  private let home: HomeOption
  private let path: String
  private let options: EnrolmentDesk.Options
  private let out: String?
  private let onlyShows: Bool
  private let isJSON: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    var options = EnrolmentDesk.Options()
    home = try HomeOption(&arguments)
    onlyShows = arguments.flag("--show")
    if !onlyShows {
      options.name = try arguments.name("--name")
      options.groups = try arguments.names("--group")
      options.life = try arguments.days("--days") ?? options.life
      options.replaces = arguments.flag("--replace")
    }
    self.options = options
    out = onlyShows ? nil : try arguments.option("--out")
    isJSON = arguments.flag("--json")
    path = try arguments.rest(1...1, "the request, a file or a folder of them,")[0]
  }

  func run() throws -> Int32 {
    let desk = try EnrolmentDesk(home.open())
    let files = Folder.isFolder(path) ? try Folder.files(path, ending: ".request") : [path]
    guard files.count == 1 || (options.name == nil && out == nil) else {
      throw UsageError("--name and --out are for one request; \(path) holds \(files.count)")
    }
    var areAllTaken = true
    for file in files {
      do { try take(file, desk) } catch {
        Terminal.error("posturectl: \(error)")
        areAllTaken = false
      }
    }
    return areAllTaken ? 0 : ExitStatus.failed
  }

  private func take(_ file: String, _ desk: EnrolmentDesk) throws {
    let request = try EnrolmentDesk.request(file)
    show(request, file)
    if !onlyShows { try enroll(request, file, desk) }
  }

  private func enroll(_ request: EnrolmentRequest, _ file: String, _ desk: EnrolmentDesk) throws {
    let bundle: EnrolmentBundle
    do { bundle = try desk.enroll(request, options, at: Clock.wall) } catch {
      throw HomeError(.refused, "\(file): \(error)")
    }
    if out == "-" { return Terminal.out(bundle.json.text) }
    let target = out ?? "\(file).bundle"
    try Home.write(bundle.json.text + "\n", to: target)
    if !isJSON { Terminal.out("  enrolled as \(bundle.party.name); bundle: \(target)") }
  }

  private func show(_ request: EnrolmentRequest, _ file: String) {
    let claims = request.claims
    if isJSON {
      return say(
        JSON.build { object in
          object("file", .string(file))
          object("name", .text(claims.name?.description))
          object("kid", .string(request.kid))
          object("role", .string(claims.role.rawValue))
          object("keyProtection", .string(claims.keyProtection.rawValue))
          object("host", .text(claims.host))
          object("issued", .integer(claims.issuedAt))
        }.text)
    }
    say("\(file): asks to be \(options.name?.description ?? claims.name?.description ?? "(no name)")")
    say("  kid   \(request.kid)")
    say("  key   \(claims.keyProtection.rawValue)")
    if let host = claims.host { say("  host  \(Terminal.plain(host))") }
    say("  made  \(Timestamp.text(claims.issuedAt))")
  }

  /// Standard output may be the bundle's.
  private func say(_ text: String) { out == "-" ? Terminal.error(text) : Terminal.out(text) }
}
