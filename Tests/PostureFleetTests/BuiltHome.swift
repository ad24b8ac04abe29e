import Posture
import PosturePlatform

@testable import PostureFleet

extension Home {
  /// A site's folder as `init` makes it, with a broker that nobody starts.
  static func built(_ folder: String, at now: Int64 = Clock.wall) throws -> Home {
    let listener = BrokerConfiguration.Listener(address: "127.0.0.1", port: 1)
    let options = SiteBuilder.Options(
      site: Name("site-a")!, hosts: ["localhost"], deviceListener: listener, operatorListener: listener)
    return try SiteBuilder.build(folder, options, at: now)
  }
}
