import Posture
import PosturePlatform
import PostureTokens

/// What the monitor answers over HTTP: the page, `/metrics`, and `/api/v1/…`.
public final class MonitorAPI: Sendable {
  /// With every answer: no script, style or picture but our own, no frame, no guessing of types.
  public static let headers: [(String, String)] = [
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"
    ),
    ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
  ]

  private let monitor: Monitor
  private let access: Access
  private let asker: RecheckAsker?

  /// `asker`: nil where no controller key was given.
  public init(_ monitor: Monitor, _ access: Access, asker: RecheckAsker?) {
    self.monitor = monitor
    self.access = access
    self.asker = asker
  }

  public func answer(_ request: HTTPRequest) -> HTTPResponse {
    guard access.isKnownHost(request) else { return Self.error(421, "this monitor is not known by that name") }
    var request = request
    // The library leaves the body out by itself.
    if request.method == "HEAD" { request.method = "GET" }
    guard ["GET", "POST"].contains(request.method) else { return Self.error(405, "only GET and POST are known here") }
    if request.method == "GET", let file = StaticFile[request.path] { return file }
    guard access.isAllowed(request) else { return Self.error(401, "the token is missing or wrong") }
    if request.path == "/metrics", request.method == "GET" { return metrics(request) }
    let parts = request.parts
    guard parts.starts(with: ["api", "v1"]) else { return Self.error(404, "nothing is here") }
    return answer(request, Array(parts.dropFirst(2)))
  }

  private func answer(_ request: HTTPRequest, _ parts: [String]) -> HTTPResponse {
    switch (request.method, parts.count, parts.first) {
    case ("GET", 1, "fleet"): Self.json(fleet)
    case ("GET", 1, "devices"): Self.json(devices(request))
    case ("GET", 1, "events"):
      monitor.hub.join().map { HTTPResponse(type: "text/event-stream", .stream($0)) }
        ?? Self.error(503, "the monitor is ending, or has as many readers as it can")
    case (_, 2...3, "devices"): device(request, parts)
    default: Self.error(404, "nothing is here")
    }
  }

  private func device(_ request: HTTPRequest, _ parts: [String]) -> HTTPResponse {
    guard let name = Name(parts[1]), let detail = monitor.detail(name, at: Clock.wall) else {
      return Self.error(404, "nothing is known of this device")
    }
    switch (request.method, parts.count > 2 ? parts[2] : "") {
    case ("GET", ""): return Self.json(json(detail))
    case ("GET", "history"): return history(name, request)
    case ("GET", "report"): return report(name)
    case ("POST", let action):
      guard access.isOurs(request) else { return Self.error(403, "only our own page may ask for this") }
      return act(action, detail, request)
    default: return Self.error(404, "nothing is here")
    }
  }

  // MARK: Answers

  private var fleet: JSON {
    let snapshot = monitor.snapshot
    let trend = (try? monitor.trend(since: Clock.wall - 86_400)) ?? []
    return .build { object in
      object("site", .string(monitor.home.site.description))
      object("at", .integer(snapshot.at))
      object("total", .count(snapshot.rows.count))
      object("verified", .count(monitor.counters.verified))
      object("states", .array(DeviceStatus.Standing.all.map { .string($0.text) }))
      object(
        "counts",
        .object(snapshot.counts.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .count($0.value)) }))
      object("trend", .array(trend.map(\.json)))
      object("worst", .array(snapshot.worstFindings(8).map(Self.finding)))
      object("notices", .array(notices.map(JSON.string)))
      object("recheck", .bool(asker != nil))
    }
  }

  private static func finding(_ code: String, _ devices: Int) -> JSON {
    [
      "code": .string(code), "devices": .count(devices),
      "meaning": .string(FindingCatalogue[code]?.meaning ?? "A code that this version does not know."),
    ]
  }

  /// What an operator has to see before anything else.
  private var notices: [String] {
    let link = monitor.linkState
    let now = Clock.wall
    var notices: [String] = []
    if !link.isOnline { notices.append(link.trouble ?? "not connected to the broker yet") }
    switch monitor.trust {
    case nil: notices.append("no trust document has come: nothing counts as a pass")
    case let trust? where trust.expires <= now:
      notices.append("the trust document has expired: run posturectl trust renew")
    case let trust? where trust.expires - now < (trust.expires - trust.issuedAt) / 3:
      notices.append("the trust document ends in \(Span.text(trust.expires - now)): run posturectl trust renew")
    default: break
    }
    if link.isGathered, monitor.lacksRevokedList {
      notices.append("the list of revoked keys has not come in full: nothing counts as a pass; posturectl trust renew")
    }
    if let trouble = monitor.historyTrouble { notices.append("history is not written: \(trouble)") }
    if let refused = monitor.counters.trustRefused {
      notices.append("a document of the issuer was refused: \(refused)")
    }
    return notices
  }

  private func devices(_ request: HTTPRequest) -> JSON {
    var selection = RowSelection()
    selection.order = request.query["sort"].flatMap(RowSelection.Order.init(rawValue:)) ?? .state
    let state = request.query["state"] ?? ""
    selection.states = state.isEmpty ? [] : [state]
    selection.group = request.query["group"].flatMap { $0.isEmpty ? nil : $0 }
    selection.text = request.query["q"]
    let limit = min(1_000, max(1, request.query["limit"].flatMap(Int.init) ?? 100))
    let offset = max(0, request.query["offset"].flatMap(Int.init) ?? 0)
    let (total, rows) = monitor.snapshot.window(selection, offset: offset, limit: limit)
    return [
      "total": .count(total), "offset": .count(offset), "sort": .string(selection.order.rawValue),
      "state": .string(state), "q": .string(selection.text ?? ""), "devices": .array(rows.map(\.json)),
    ]
  }

  private func json(_ detail: DeviceDetail) -> JSON {
    let explanations = detail.row.conditions.map { condition -> JSON in
      [
        "condition": .string(condition.rawValue), "meaning": .string(condition.meaning),
        "advice": .string(condition.advice),
      ]
    }
    return .object((detail.json.members ?? []) + [JSON.Member("explanations", .array(explanations))])
  }

  private func history(_ name: Name, _ request: HTTPRequest) -> HTTPResponse {
    let limit = min(1_000, max(1, request.query["limit"].flatMap(Int.init) ?? 100))
    do throws(HistoryError) {
      let records = try monitor.history(name, limit: limit)
      let remarks = try monitor.remarks(name, limit: limit)
      let withTokens = request.query["tokens"] == "1"
      return Self.json([
        "records": .array(
          records.map { record in
            withTokens ? record.json : .object((record.json.members ?? []).filter { $0.name != "token" })
          }),
        "remarks": .array(remarks.map(\.json)),
      ])
    } catch { return Self.error(500, error.description) }
  }

  private func report(_ name: Name) -> HTTPResponse {
    guard let token = monitor.report(name) else { return Self.error(404, "no report") }
    return HTTPResponse(type: "application/eat+jwt", .bytes(token))
  }

  private func act(_ action: String, _ detail: DeviceDetail, _ request: HTTPRequest) -> HTTPResponse {
    let name = detail.name
    switch action {
    case "recheck":
      guard let asker else { return Self.error(403, "no controller key was given to this monitor") }
      do {
        try asker.ask(name, challenge: detail.challenge, monitor)
        return Self.json(["said": "asked; the answer shows here"])
      } catch { return Self.error(502, "\(error)") }
    case "acknowledge": return acknowledge(detail, why: request.query["why"] ?? "")
    default: return Self.error(404, "nothing is here")
    }
  }

  private func acknowledge(_ detail: DeviceDetail, why: String) -> HTTPResponse {
    guard !detail.breaches.isEmpty else { return Self.error(409, "there is nothing to acknowledge") }
    guard (1...500).contains(why.utf8.count) else { return Self.error(400, "say why, in at most 500 characters") }
    do throws(HistoryError) {
      try monitor.acknowledge(detail.name, by: "page", why: why, at: Clock.wall)
      return Self.json(["said": "acknowledged; kept in the history"])
    } catch { return Self.error(500, error.description) }
  }

  private func metrics(_ request: HTTPRequest) -> HTTPResponse {
    let isOpen = request.headers["accept"]?.contains("application/openmetrics-text") ?? false
    return HTTPResponse(
      text: Metrics(monitor, isOpenMetrics: isOpen).text,
      type: isOpen
        ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : "text/plain; version=0.0.4; charset=utf-8")
  }

  private static func json(_ json: JSON) -> HTTPResponse { HTTPResponse(text: json.text, type: "application/json") }

  private static func error(_ status: UInt32, _ why: String) -> HTTPResponse {
    HTTPResponse(status, text: JSON.object([JSON.Member("error", .string(why))]).text, type: "application/json")
  }
}

/// The page's files, which are part of the program.
enum StaticFile {
  static subscript(path: String) -> HTTPResponse? {
    switch path {
    case "/": HTTPResponse(type: "text/html; charset=utf-8", .bytes(PackageResources.page_html))
    case "/page.css": HTTPResponse(type: "text/css; charset=utf-8", .bytes(PackageResources.page_css))
    case "/page.js": HTTPResponse(type: "text/javascript; charset=utf-8", .bytes(PackageResources.page_js))
    case "/icon.svg": HTTPResponse(type: "image/svg+xml", .bytes(PackageResources.icon_svg))
    default: nil
    }
  }
}
