import CLinux

/// The memory that this process has from the system.
public enum Heap {
  /// Gives back what a burst of work has left free.
  public static func trim() { clinux_trim_memory() }
}
