import Posture
public import PostureTokens

/// What this machine has seen of the site's trust: an older document is refused for good.
public enum TrustMemory {
  private static let file = "seen.json"

  /// The root as it is pinned, and what was seen since.
  public static func load(_ home: Home) throws(HomeError) -> TrustStore {
    var store: TrustStore
    let root = try home.root()
    do throws(KeyError) { store = try TrustStore(site: home.site, root: root) } catch {
      throw HomeError(.damaged, "\(home.path(Home.File.root)): \(error)")
    }
    do throws(HomeError) { store.restore(try Home.read(json: home.path(file))) } catch {
      // Nothing was seen yet; anything else would forget the floor.
      guard error.code == .missing else { throw error }
    }
    return store
  }

  /// Best effort: a tool that cannot write here still works, and asks the broker again. Whether it is there now, or
  /// something newer is.
  @discardableResult
  public static func save(_ verifier: MonitorVerifier, _ home: Home) -> Bool {
    let path = home.path(file)
    let saved = verifier.saved
    if let known = try? Home.read(json: path) {
      guard known != saved, known["floor"]?.integer ?? 0 <= saved["floor"]?.integer ?? 0 else { return true }
    }
    return (try? Home.write(saved.text, to: path)) != nil
  }
}
