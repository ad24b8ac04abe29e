/// What the kernel's command line says that systemd shall start (systemd(1), systemd-debug-generator(8)).
struct BootGoal: Sendable {
  /// In place of the default target.
  var target: String?
  /// Started beside it.
  var wanted: [String] = []
  var masked: Set<String> = []

  init() {}

  init(_ kernel: BootWords) {
    for word in kernel.words {
      if word.hasPrefix("systemd.unit=") { target = String(word.dropFirst("systemd.unit=".count)) }
      if let known = Self.levels[word] { target = known }
    }
    wanted = kernel.values("systemd.wants").map(Self.unitName)
    masked = Set(kernel.values("systemd.mask").map(Self.unitName))
  }

  /// Run levels, and their like.
  private static let levels = [
    "emergency": "emergency.target", "-b": "emergency.target", "rescue": "rescue.target", "single": "rescue.target",
    "-s": "rescue.target", "s": "rescue.target", "S": "rescue.target", "1": "rescue.target",
    "2": "multi-user.target", "3": "multi-user.target", "4": "multi-user.target", "5": "graphical.target",
  ]

  private static let types = [
    "service", "socket", "target", "device", "mount", "automount", "swap", "timer", "path", "slice", "scope",
  ]

  /// A name without a type is a service's.
  private static func unitName(_ text: String) -> String {
    let type = UnitName(text)?.type ?? ""
    return types.contains(type) ? text : "\(text).service"
  }
}
