import Posture
import PosturePlatform
import PostureMQTT
import PostureTokens

/// The credential and the TLS certificate are renewed over the broker, before they end and with no hands.
extension Courier {
  private static let hour: Int64 = 3_600_000
  private var name: Name { enrolment.device.name }

  /// Asks for a new credential when it is time, and again every hour until one has come.
  func considerRenewal() {
    guard isOnline else { return }
    do throws(TokenError) {
      let time = try enrolment.renewalTime(verifier.trust)
      set(.renew, Self.hour)
      guard time.isDue(at: moment) else {
        return set(.renew, max(1_000, min(Self.hour, (time.due - moment.seconds) * 1_000)))
      }
      if time.isForIssuer {
        guard askedUnder != verifier.trust.floor else { return }
        askedUnder = verifier.trust.floor
      }
    } catch {
      lastError = "own credential: \(error)"
      return log.say(.error, "renewal", "own credential: \(error)")
    }
    askForRenewal()
  }

  private func askForRenewal() {
    let tls: [UInt8]
    do throws(EnrolmentError) { tls = try enrolment.tlsRequest() } catch {
      lastError = "\(error)"
      return log.say(.error, "renewal", "\(error)")
    }
    log.say(.notice, "renewal", "asking for a new credential")
    quick.ask(.request(tls: tls)) { [unowned self] answer in
      guard case .success(.token(let token)) = answer else { return attesterFailed("request", answer) }
      publish(Letter(topic: topic(.request(name)), kind: .request, token: token))
    }
  }

  /// The attester takes it first: it is the one that signs.
  func receiveRenewal(_ message: Message) {
    guard documentRate.takeNow(now), !message.payload.isEmpty, let token = message.text else {
      return counters.count(.refusedDocuments)
    }
    // It is kept by the broker, and comes with every connection.
    guard renewal != message.payload else { return }
    set(.tell, 1_000)
    quick.ask(.renewal(token: token)) { [unowned self] answer in
      switch answer {
      case .success(.done): install(message.payload)
      case .success(.failed(let code, let why)):
        counters.count(.refusedDocuments)
        lastError = "renewal refused: \(code.rawValue)"
        log.say(.warning, "renewal", "the attester refuses a renewal: \(code.rawValue): \(why)")
      default: attesterFailed("renewal", answer)
      }
    }
  }

  private func install(_ token: [UInt8]) {
    let next: Enrolment?
    do throws(EnrolmentError) { next = try enrolment.renewed(token, verifier, at: moment) } catch {
      counters.count(.refusedDocuments)
      lastError = "renewal: \(error)"
      return log.say(.warning, "renewal", "renewal: \(error)")
    }
    renewal = token
    guard let next else { return }
    counters.count(.renewals)
    log.say(.notice, "renewal", "new credential and certificate in force")
    // The request is answered: nobody who comes later needs to.
    client?.publish(Publication(topic(.request(name)).text, [], retain: true))
    adopt(next)
  }
}
