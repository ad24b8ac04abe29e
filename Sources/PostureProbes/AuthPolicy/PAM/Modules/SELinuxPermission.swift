import Posture

extension PAM {
  /// pam_sepermit, whose other name is pam_selinux_permit: sepermit.conf(5) names those who may come in, without a
  /// question where another module would ask one, while SELinux is enforcing.
  struct SELinuxPermission {
    private let question: ModuleQuestion

    static let answer: ModuleModels.Model = { SELinuxPermission(question: $0).answer() }

    private func answer() -> ModuleAnswer {
      do throws(System.Unreadable) {
        for line in try question.system.read(path).text.lines() where !line.hasPrefix("#") {
          let words = line.trimmed.split(separator: ":")
          guard let name = words.first else { continue }
          switch isMeant(name) {
          case true?: return admitted(words.contains("ignore") ? .ignore : .success)
          case false?: continue
          case nil: return question.anything(Cause("membershipUnknown", observed: "\(path): \(name)"))
          }
        }
        return .fixed(.ignore)
      } catch {
        guard error == .missing else { return question.anything(question.unreadable(path, error)) }
        // libpam's package brings the usual file, with nobody in it: a tree without it is not the whole system.
        return .fixed(named == nil ? .ignore : .serviceError)
      }
    }

    private var path: String {
      let usual = ["/etc/security/sepermit.conf", "/usr/etc/security/sepermit.conf"]
      return named ?? usual.first(where: question.system.exists) ?? usual[0]
    }

    /// Before 1.5.3 the option had no effect.
    private var named: String? {
      question.pam.version.map { $0 < Version(1, 5, 3) } == true ? nil : question.value("conf")
    }

    /// A user, `@group`, or `%user` of SELinux.
    private func isMeant(_ name: Substring) -> Bool? {
      guard let account = question.account else { return nil }
      let rest = String(name.dropFirst())
      if name.hasPrefix("@") { return account.isMember(of: rest) }
      if name.hasPrefix("%") { return SELinux(question.system).user(of: account) == rest }
      return name == account.name
    }

    private func admitted(_ code: Code) -> ModuleAnswer {
      switch SELinux(question.system).isEnforcing {
      case true?:
        return .fixed(code, grant: Cause("pamFilterGrants", observed: "\(path), and SELinux is enforcing"))
      case false?: return .fixed(.authenticationError)
      case nil:
        return .oneOf(
          [code, .authenticationError],
          Cause("conditionUnknown", observed: "whether SELinux is enforcing cannot be told"))
      }
    }
  }
}
