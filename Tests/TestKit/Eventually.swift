public import PosturePlatform

/// Asks again and again, with `pause` in between, until it is so or that many milliseconds are over; whether it is.
public func eventually(
  _ milliseconds: Int64 = 20_000, pause: () -> Void = { Clock.sleep(milliseconds: 100) }, _ isSo: () throws -> Bool
) -> Bool {
  let until = Clock.monotonicMilliseconds + milliseconds
  while (try? isSo()) != true {
    guard Clock.monotonicMilliseconds < until else { return false }
    pause()
  }
  return true
}
