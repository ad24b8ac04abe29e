import Testing

/// Real parts, and what befalls them on bad networks, dying disks and wrong clocks. After each fault every event has come
/// once and in order, the verdict and the presence are right, and nothing was left lying about (Aftermath).
///
/// Short in the fast tier, at full length with POSTURE_LONG.
@Suite(.serialized, .enabled(if: Rig.isPossible, Rig.needs))
struct FaultTests {}
