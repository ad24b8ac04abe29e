import Posture
import PosturePlatform

/// The configuration in a file, which need not be there unless it was named.
enum Configured {
  static func load(_ path: String?) throws(ConfigurationError) -> AgentConfiguration {
    let name = path ?? AgentConfiguration.standardPath
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try AtomicFile.read(name, cap: 65_536) } catch {
      if path == nil, error.isMissing { return AgentConfiguration() }
      throw ConfigurationError("\(error)")
    }
    do {
      return try AgentConfiguration(json: try CommentedJSON.parse(bytes))
    } catch { throw ConfigurationError("\(name): \(error)") }
  }
}
