import PosturePlatform

extension PAM {
  /// Where libpam looks for the file of a service.
  struct Files: Sendable {
    let system: System
    /// In the order of the search.
    let folders: [String]
    /// Plain includes too are looked for in all folders.
    let includesSearch: Bool

    init(_ system: System, _ distribution: Distribution, isDebian: Bool, _ version: Version?) {
      self.system = system
      // The others came with 1.2.0.
      let isOld = version.map { $0 < Version(1, 2) } ?? false
      folders =
        ["/etc/pam.d"] + (isOld ? [] : ["/usr/lib/pam.d"] + Self.vendor(distribution, isDebian, version))
      // Seen with Debian 12; the search came with the rewrite in 1.6.
      includesSearch = !(isDebian && (version ?? Version(1, 5)) < Version(1, 6))
    }

    /// What VENDORDIR is built as.
    private static func vendor(_ distribution: Distribution, _ isDebian: Bool, _ version: Version?) -> [String] {
      let recent = ["/usr/share/pam/pam.d", "/usr/share/pam"]
      if isDebian { return (version ?? Version(1, 5)) >= Version(1, 7, 2) ? recent : [] }
      let suse = "/usr/etc/pam.d"
      if distribution.id == "fedora" || distribution.like.contains("fedora") { return ["/usr/share/pam.d"] + recent }
      return [suse, "/usr/share/pam.d"] + recent
    }

    /// False where there is /etc/pam.conf instead.
    var usesFolders: Bool { folders.contains { (try? system.status($0))?.kind == .directory } }

    func find(_ name: String, isInclude: Bool) -> Result<(path: String, bytes: [UInt8]), StackBuilder.FileError> {
      if name.hasPrefix("/") { return read(name) }
      for folder in isInclude && !includesSearch ? [folders[0]] : folders {
        let result = read("\(folder)/\(name)")
        if case .failure(let error) = result, error.reason == .missing { continue }
        return result
      }
      return .failure(StackBuilder.FileError(path: "\(folders[0])/\(name)", reason: .missing))
    }

    func read(_ path: String) -> Result<(path: String, bytes: [UInt8]), StackBuilder.FileError> {
      do throws(System.Unreadable) {
        return .success((path, try system.read(path, cap: 256 << 10).bytes))
      } catch {
        return .failure(StackBuilder.FileError(path: path, reason: error))
      }
    }
  }

  /// The folders that hold the modules.
  struct ModuleFolders: Sendable {
    private let system: System
    private let folders: [String]
    private let names: Set<String>

    init(_ system: System) {
      self.system = system
      var names: Set<String> = []
      folders = Self.candidates(system).filter { folder in
        guard let found = try? system.list(folder) else { return false }
        names.formUnion(found)
        return true
      }
      self.names = names
    }

    private static func candidates(_ system: System) -> [String] {
      let plain = ["/lib/security", "/lib64/security", "/usr/lib/security", "/usr/lib64/security"]
      let multiarch = ["/usr/lib", "/lib"].flatMap { folder in
        ((try? system.list(folder)) ?? []).filter { $0.range(ofText: "-linux-") != nil }.map {
          "\(folder)/\($0)/security"
        }
      }
      return plain + multiarch + nixPackages(system).map { "/nix/store/\($0)/lib/security" }
    }

    static func nixPackages(_ system: System) -> [String] {
      ((try? system.list("/nix/store")) ?? []).filter { $0.range(ofText: "linux-pam-") != nil }
    }

    /// This disk shows which modules there are.
    var areKnown: Bool { !folders.isEmpty }

    /// Whether libpam itself, or a module for it, is on this disk.
    var hasLibrary: Bool {
      areKnown || Self.candidates(system).contains { system.exists("\(Path.folder(of: $0))/libpam.so.0") }
    }

    /// Whether libpam can load what a line names. It adds no suffix. Where this disk has no folder of modules at all,
    /// nothing can be said, and the line is believed.
    func has(_ module: String) -> Bool {
      let isPlain = !module.utf8.contains(UInt8(ascii: "/"))
      if isPlain || module.range(ofText: "$ISA") != nil {
        return folders.isEmpty || names.contains(Path.name(of: module))
      }
      if module.hasPrefix("/") { return system.exists(module) || isOnAnotherDisk(module) }
      return folders.isEmpty || folders.contains { system.exists("\($0)/\(module)") }
    }

    private func isOnAnotherDisk(_ module: String) -> Bool {
      module.hasPrefix("/nix/store/") && !system.exists("/nix/store")
    }
  }
}
