public import Posture

/// A request that its own key has signed and whose TLS request is whole: all that can be known before somebody looks.
public struct EnrolmentRequest: Sendable {
  public let claims: EnrolmentRequestClaims
  public let key: PublicKey
  public let tlsRequest: CertificateRequest
  public var kid: String { key.kid }

  /// The one line of text that a device gives to whoever enrols it.
  public static func make(
    name: Name?, role: Role = .device, key: some SigningKey, tlsKey: FileKey, host: String? = nil, at now: Int64
  ) throws(EnrolmentError) -> String {
    let tlsRequest: [UInt8]
    do throws(CertificateError) {
      tlsRequest = try CertificateRequest.make(key: tlsKey, commonName: name?.description ?? "posture").der()
    } catch { throw .certificate(error) }
    let claims = EnrolmentRequestClaims(
      name: name, role: role, issuedAt: now, key: key.publicKey.jwk, keyProtection: key.protection,
      tlsRequest: tlsRequest, host: host)
    do throws(KeyError) { return try TokenEncoder.encode(.request, claims.claims, with: key) } catch {
      throw .key(error)
    }
  }

  public init(_ bytes: [UInt8]) throws(EnrolmentError) {
    let (claims, key) = try Self.selfSigned(bytes)
    self.claims = claims
    self.key = key
    do throws(CertificateError) { tlsRequest = try CertificateRequest(der: claims.tlsRequest) } catch {
      throw .certificate(error)
    }
  }

  private static func selfSigned(_ bytes: [UInt8]) throws(EnrolmentError) -> (EnrolmentRequestClaims, PublicKey) {
    let unverified: UnverifiedToken
    let claims: EnrolmentRequestClaims
    do throws(TokenError) {
      unverified = try TokenDecoder.decode(bytes, kinds: [.request])
      claims = try unverified.unverifiedClaims(EnrolmentRequestClaims.init(claims:))
    } catch { throw .token(error) }
    let key: PublicKey
    do throws(KeyError) { key = try PublicKey(claims.key) } catch { throw .key(error) }
    guard key.kid == unverified.kid else { throw .notItsOwnKey }
    do throws(TokenError) { _ = try unverified.verified(by: key) } catch { throw .token(error) }
    return (claims, key)
  }
}
