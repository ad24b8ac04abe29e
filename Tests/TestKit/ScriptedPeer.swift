import Glibc
public import PosturePlatform
import Synchronization

/// A TCP peer on loopback that says what a test wants, byte for byte. Connections are served one after the other.
public final class ScriptedPeer: Sendable {
  /// One connection, used inside the script.
  public final class Connection: Sendable {
    private let socket: Descriptor

    init(_ socket: consuming Descriptor) { self.socket = socket }

    /// Exactly `count` bytes; nil where the other side has gone, or says nothing for `milliseconds`.
    public func read(_ count: Int, _ milliseconds: Int32 = 5_000) -> [UInt8]? {
      var bytes: [UInt8] = []
      while bytes.count < count {
        var polled = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, milliseconds) > 0, let chunk = try? socket.read(count - bytes.count), !chunk.isEmpty
        else { return nil }
        bytes += chunk
      }
      return bytes
    }

    /// The first byte of an MQTT packet, and what follows its length.
    public func packet(_ milliseconds: Int32 = 5_000) -> (first: UInt8, rest: [UInt8])? {
      guard let first = read(1, milliseconds)?[0] else { return nil }
      var length = 0
      for shift in stride(from: 0, through: 21, by: 7) {
        guard let byte = read(1, milliseconds)?[0] else { return nil }
        length |= Int(byte & 127) << shift
        if byte < 128 { break }
      }
      return length == 0 ? (first, []) : read(length, milliseconds).map { (first, $0) }
    }

    /// False where the other side has gone.
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Bool {
      var done = 0
      while done < bytes.count {
        let count = bytes.withUnsafeBytes {
          Glibc.send(socket.number, $0.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return false }
        done += count
      }
      return true
    }
  }

  public let port: UInt16
  private let connections = Mutex(0)
  private let isOver = Mutex(false)

  /// `script` gets each connection and its number, from 0; the connection is closed when it returns.
  public init(_ script: @escaping @Sendable (Connection, Int) -> Void) throws(SystemError) {
    let listener = try Loopback.listen()
    port = Loopback.port(of: listener)
    let number = listener.release()
    _ = try Thread.start("peer") { [weak self] in
      let listener = Descriptor(owning: number)
      while true {
        var polled = pollfd(fd: listener.number, events: Int16(POLLIN), revents: 0)
        let isReady = poll(&polled, 1, 100) > 0
        guard let self, !self.isOver.withLock({ $0 }) else { return }
        guard isReady else { continue }
        let accepted = accept(listener.number, nil, nil)
        guard accepted >= 0 else { continue }
        let index = self.connections.withLock { count in
          defer { count += 1 }
          return count
        }
        script(Connection(Descriptor(owning: accepted)), index)
      }
    }
  }

  deinit { stop() }

  public func stop() { isOver.withLock { $0 = true } }

  /// How often somebody has connected.
  public var connectionCount: Int { connections.withLock { $0 } }
}

/// Packets of MQTT, by hand.
public enum Packet {
  public static func connack(_ code: UInt8, isV5: Bool = true) -> [UInt8] {
    isV5 ? [0x20, 3, 0, code, 0] : [0x20, 2, 0, code]
  }
  public static func disconnect(_ code: UInt8) -> [UInt8] { [0xE0, 2, code, 0] }

  /// A PUBLISH of MQTT 5; `flags`: retain 1, QoS 1 2, QoS 2 4. `properties` with their length before them.
  public static func publish(
    _ topic: [UInt8], _ payload: [UInt8], flags: UInt8 = 0, identifier: UInt16? = nil, properties: [UInt8] = [0]
  ) -> [UInt8] {
    var rest = [UInt8(topic.count >> 8), UInt8(topic.count & 255)] + topic
    if let identifier { rest += [UInt8(identifier >> 8), UInt8(identifier & 255)] }
    rest += properties + payload
    return [0x30 | flags] + length(rest.count) + rest
  }

  /// The variable byte integer of a length.
  public static func length(_ count: Int) -> [UInt8] {
    var left = count
    var bytes: [UInt8] = []
    repeat {
      bytes.append(UInt8(left & 127) | (left > 127 ? 128 : 0))
      left >>= 7
    } while left > 0
    return bytes
  }
}
