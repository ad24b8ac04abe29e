import Glibc
import Posture
import PosturePlatform
import PostureProbes
import TestKit
import Testing

@testable import PostureAttester

@Suite(.serialized) struct PrivilegeTests {
  /// In a process of its own: reads what the probes read of this very machine, gives up its rights, and then tries.
  @Test(.enabled(if: geteuid() == 0, "gives up root's rights"))
  func `after it has given up its rights it reads everything and writes nothing of it`() async {
    await #expect(processExitsWith: .success) {
      let system = try System()
      for name in ProbeName.allCases { _ = name.probe.run(on: system) }
      let visited = system.visited.sorted()
      try Privilege.reduce(to: Privilege.User(uid: 64_001, gid: 64_001))
      var tried = (files: 0, folders: 0)
      for path in visited where !path.hasPrefix("/proc/") {
        var status = stat()
        guard stat(path, &status) == 0 else { continue }
        let isForAll = status.st_mode & 0o002 != 0
        if status.st_mode & S_IFMT == S_IFDIR {
          let probe = open("\(path)/posture-test-\(getpid())", O_WRONLY | O_CREAT | O_EXCL, 0o600)
          if probe >= 0 { unlink("\(path)/posture-test-\(getpid())") }
          precondition(probe < 0 || isForAll, "could make a file in \(path)")
          tried.folders += 1
        } else {
          precondition(open(path, O_WRONLY | O_NONBLOCK) < 0 || isForAll, "could write \(path)")
          precondition(isForAll || chmod(path, status.st_mode & 0o7777) < 0, "could change \(path)")
          tried.files += 1
        }
      }
      precondition(tried.files > 20, "only \(tried.files) files tried")
      precondition(open("/etc/shadow", O_RDONLY) >= 0, "cannot read shadow")
      precondition(open("/etc/shadow", O_RDWR) < 0)
      for (family, text) in [(AF_INET, "127.0.0.1"), (AF_INET, "192.0.2.1"), (AF_INET6, "::1")] {
        precondition(!canConnect(family, text), "could connect to \(text)")
      }
      precondition(setuid(0) < 0 && seteuid(0) < 0)
    }
  }

  @Test(.enabled(if: geteuid() == 0)) func `root without a user to become is an error`() {
    #expect(throws: SystemError.self) { try Privilege.reduce(to: nil) }
  }

  @Test func `users by name and number, and never root`() {
    #expect(Privilege.User("64001") == Privilege.User(uid: 64_001, gid: 64_001))
    #expect(Privilege.User("64001:5") == Privilege.User(uid: 64_001, gid: 5))
    for text in ["0", "0:5", "root", "", ":", "1:2:3", "no-such-user", "-1"] { #expect(Privilege.User(text) == nil) }
  }
}

/// With any port; what counts is whether packets would go.
private func canConnect(_ family: Int32, _ text: String) -> Bool {
  let socket = socket(family, Int32(SOCK_DGRAM.rawValue), 0)
  guard socket >= 0 else { return false }
  defer { close(socket) }
  if family == AF_INET {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(53).bigEndian
    inet_pton(AF_INET, text, &address.sin_addr)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
  var address = sockaddr_in6()
  address.sin6_family = sa_family_t(AF_INET6)
  address.sin6_port = in_port_t(53).bigEndian
  inet_pton(AF_INET6, text, &address.sin6_addr)
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
    }
  }
}
