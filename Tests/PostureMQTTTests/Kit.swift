import PostureMQTT
import TestKit

extension TLSFiles {
  init(_ identity: CertificateWorkshop.Identity, serverName: String? = nil) {
    self.init(
      authorities: identity.authorities, certificate: identity.certificate, key: identity.key, serverName: serverName)
  }
}

extension Session.Settings {
  /// Waits short enough for a test.
  static func quick(_ subscriptions: Subscription...) -> Session.Settings {
    var settings = Session.Settings()
    settings.subscriptions = subscriptions
    settings.connectTimeout = 3_000
    settings.answerTimeout = 3_000
    settings.backoff.soon = 50
    settings.backoff.soonCap = 200
    settings.backoff.later = 100
    settings.backoff.laterCap = 400
    settings.backoff.stable = 500
    return settings
  }
}

extension Broker {
  func tls(_ name: String, serverName: String? = nil) throws -> Client.Settings {
    var settings = Client.Settings(
      .tls(host: "127.0.0.1", port: port, TLSFiles(try identity(name), serverName: serverName)))
    settings.session = .quick()
    return settings
  }

  func plain(_ clientID: String? = nil, _ subscriptions: Subscription...) -> Client.Settings {
    var settings = Client.Settings(.plain(host: "127.0.0.1", port: plainPort), clientID: clientID)
    settings.session = .quick()
    settings.session.subscriptions = subscriptions
    return settings
  }
}

extension Inbox {
  /// The first event that `pick` takes, others thrown away; nil after `milliseconds`.
  func first<Result>(_ milliseconds: Int64 = 5_000, _ pick: (ClientEvent) -> Result?) -> Result? {
    var left = milliseconds
    while left > 0 {
      if let event = next(min(left, 100)) {
        if let result = pick(event) { return result }
      } else {
        left -= 100
      }
    }
    return nil
  }

  func online(_ milliseconds: Int64 = 5_000) -> Session.Connack? {
    first(milliseconds) { if case .online(let connack) = $0 { connack } else { nil } }
  }

  func offline(_ milliseconds: Int64 = 5_000) -> Loss? {
    first(milliseconds) { if case .offline(let loss, _) = $0 { loss } else { nil } }
  }

  func message(_ milliseconds: Int64 = 5_000) -> Message? {
    first(milliseconds) { if case .message(let message) = $0 { message } else { nil } }
  }

  func outcome(_ ticket: Session.Ticket, _ milliseconds: Int64 = 5_000) -> Session.Outcome? {
    first(milliseconds) { if case .completed(ticket, let outcome) = $0 { outcome } else { nil } }
  }

  func ended(_ milliseconds: Int64 = 5_000) -> Bool { first(milliseconds) { $0 == .ended ? true : nil } ?? false }
}
