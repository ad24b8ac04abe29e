import Glibc

/// Tests of more than some seconds run when POSTURE_LONG is set.
public enum Long {
  public static let isWanted = getenv("POSTURE_LONG") != nil
}
