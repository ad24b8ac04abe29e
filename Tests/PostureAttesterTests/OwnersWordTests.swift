import Glibc
import Posture
import PosturePlatform
import PostureProbes
import TestKit
import Testing

@testable import PostureAttester

@Suite struct OwnersWordTests {
  private static let store = "secrets@gnome-keyring:login"

  /// Facts with one keyring of ours, after a session that answers `frame` was asked; nil: nobody listens.
  private func facts(_ frame: [UInt8]?, uid: UInt32 = geteuid(), isLoggedIn: Bool = true) throws -> Door {
    try TemporaryFolder.with { runtime in
      let folder = "\(runtime)/\(uid)/posture"
      if isLoggedIn {
        mkdir("\(runtime)/\(uid)", 0o700)
        mkdir(folder, 0o700)
      }
      var facts = ProbeResult()
      var door = Door(Self.store, .secret, "alice", .passcode, because: [])
      door.isDefault = true
      facts.doors = [door]
      let owner = Subject(name: "alice", uid: uid, kind: .owner, account: .active, password: .set)
      guard let frame else {
        OwnersWord.add(to: &facts, owners: [owner], runtime: runtime)
        return facts.doors[0]
      }
      let listener = try UnixSocket.listen("\(folder)/session.sock")
      let number = listener.number
      let session = try Thread.start("session") {
        var polled = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        poll(&polled, 1, 1_000)
        guard let client = UnixSocket.accept(number) else { return }
        _ = try? UnixSocket.send(client.number, frame[...])
      }
      OwnersWord.add(to: &facts, owners: [owner], runtime: runtime)
      session.join()
      return facts.doors[0]
    }
  }

  @Test func `a round trip that worked is told as the owner's word`() throws {
    let said = SecretServiceResult(.works, provider: "gnome-keyring", collection: "login")
    let door = try facts(Frame.encode(said.json.bytes))
    #expect(door.proof == Door.Proof(.roundTrip, .ok))
    #expect(door.note?.contains("the owner's word") == true)
    #expect(door.opening == .passcode)
  }

  @Test func `no session is a reason, nonsense a failure, and neither changes an answer`() throws {
    for isLoggedIn in [true, false] {
      let door = try facts(nil, isLoggedIn: isLoggedIn)
      #expect(door.proof == Door.Proof(.roundTrip, .refused, reason: "noSession"))
      // That is seen from here, and nobody's word.
      #expect(door.note == nil)
    }
    for frame in [Array("nonsense".utf8), Frame.encode(Array("{}".utf8)), [], [0xFF, 0xFF, 0xFF, 0xFF]] {
      let door = try facts(frame)
      #expect(door.proof?.result == .failed && door.opening == .passcode)
    }
  }

  @Test func `somebody else's process is not the owner`() throws {
    let said = SecretServiceResult(.works, provider: "gnome-keyring", collection: "login")
    #expect(try facts(Frame.encode(said.json.bytes), uid: 4_242).proof?.result == .refused)
  }
}
