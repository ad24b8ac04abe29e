import Posture
import PosturePlatform
import PostureTokens

/// What changes in a device's enrolment when its credential is renewed.
extension Enrolment {
  /// When to ask for the next credential.
  func renewalTime(_ trust: TrustStore) throws(TokenError) -> RenewalTime {
    var trust = trust
    let credential = try trust.credential(Array(bundle.credential.utf8))
    let share = Double(Gate.delay(of: device, "renewal", spread: 1)) / 1_000
    return RenewalTime(of: credential, under: trust, share: share)
  }

  /// PKCS #10 (DER) for the TLS key, which stays the same.
  func tlsRequest() throws(EnrolmentError) -> [UInt8] {
    let key = try tlsKey()
    do throws(CertificateError) {
      return try CertificateRequest.make(key: key, commonName: device.name.description).der()
    } catch { throw .certificate(error) }
  }

  private func tlsKey() throws(EnrolmentError) -> FileKey {
    do throws(KeyError) { return try FileKey.load(folder.courierKey) } catch { throw .key(error) }
  }

  /// With an issuer's answer, checked as a whole and written; nil for the one that is in force already.
  func renewed(
    _ token: [UInt8], _ verifier: DeviceVerifier, at moment: Moment
  ) throws(EnrolmentError) -> Enrolment? {
    guard let bundle = try next(token, verifier, at: moment) else { return nil }
    do throws(SystemError) { try AtomicFile.write(bundle.json.bytes, to: folder.courierBundle) } catch {
      throw .key(KeyError(.file, underlying: error))
    }
    return Enrolment(bundle, folder)
  }

  private func next(
    _ token: [UInt8], _ verifier: DeviceVerifier, at moment: Moment
  ) throws(EnrolmentError) -> EnrolmentBundle? {
    var verifier = verifier
    let next: EnrolmentBundle
    let key: PublicKey
    do throws(TokenError) {
      let current = try verifier.trust.credential(Array(bundle.credential.utf8))
      guard let answer = try verifier.renewal(token, of: current, at: moment) else { return nil }
      next = bundle.renewed(answer.claims, answer.credential, trust: verifier.trust.token?.text)
      key = answer.credential.key
    } catch { throw .token(error) }
    // Its dates have been looked at.
    _ = try next.check(key: key, tlsKey: try tlsKey(), at: Moment(0, isTrusted: false))
    return next
  }
}
