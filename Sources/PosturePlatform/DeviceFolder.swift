/// Where a device keeps what it is: one folder, and in it one for each of the two processes, which only that one reads.
public struct DeviceFolder: Hashable, Sendable {
  public static let standard = DeviceFolder("/var/lib/posture")

  public let path: String

  public init(_ path: String) { self.path = path }

  /// The attester's: key, journal, enrolment.
  public var attester: String { Path.join(path, "attester") }
  /// PKCS #8 PEM.
  public var attesterKey: String { Path.join(attester, "key.pem") }
  /// The device's permanent id (`ueid` of RFC 9711), base64url.
  public var deviceID: String { Path.join(attester, "ueid") }
  /// What the enrolment gave back, as the attester believes it.
  public var attesterBundle: String { Path.join(attester, "bundle.json") }

  /// The courier's: TLS key, enrolment, what it remembers.
  public var courier: String { Path.join(path, "courier") }
  /// PEM.
  public var courierKey: String { Path.join(courier, "tls-key.pem") }
  public var courierBundle: String { Path.join(courier, "bundle.json") }

  /// Where the attester answers unless the configuration says otherwise.
  public static let standardSocket = "/run/posture/attester.sock"
}
