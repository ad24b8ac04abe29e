import CLinux

/// The memory that this process has from the system.
public enum Heap {
  /// Gives back what a burst of work has left free.
  public static func trim() { clinux_trim_memory() }

  /// For a process whose threads hand each other many messages at times: what one frees is kept for the next, until
  /// ``trim()``, instead of going back to the system a page at a time.
  public static func expectBursts() { clinux_grow_memory(4 << 20, 64 << 20) }

  /// Lets go of code and tables that were needed until now, starting above all; what is needed again comes back from the
  /// files.
  public static func releaseCode() { clinux_release_code() }

  /// Both, where there is little to do for a while.
  public static func rest() {
    trim()
    releaseCode()
  }
}
