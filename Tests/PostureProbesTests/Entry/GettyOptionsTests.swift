import Testing

@testable import PostureProbes

/// What agetty makes of its own arguments, and login of what it is given.
struct GettyOptionsTests {
  @Test(arguments: [
    (["-o", #"-p -- \u"#, "--noclear", "tty1", "linux"], ["-p", "--", #"\u"#]),
    (["--autologin", "pi", "--noclear", "tty1", "linux"], ["-f", "--", "pi"]),
    (["-a", "root", "-J", "ttyS2", "vt220"], ["-f", "--", "root"]),
    (["-aroot", "tty1"], ["-f", "--", "root"]),
    (["--autologin=root", "tty1"], ["-f", "--", "root"]),
    // An unambiguous prefix is the option.
    (["--auto", "root", "tty1"], ["-f", "--", "root"]),
    // With -o the name is filled in, and -f is not added.
    (["-o", #"-p -- \u"#, "--autologin", "kid", "tty3"], ["-p", "--", "kid"]),
    (["-a", "kid", "-o", #"-p -f -- \u"#, "tty3"], ["-p", "-f", "--", "kid"]),
    (["-o", #"-f \u"#, "tty3"], ["-f", #"\u"#]),
    (["-n", "-l", "/bin/sh", "console", "0", "vt100"], []),
    (["38400", "tty1"], ["--", #"\u"#]),
    (["-8", "-L", "115200", "ttyS0", "-a", "root"], ["-f", "--", "root"]),
    // After "--" there are no options.
    (["--", "tty1", "-a", "root"], ["--", #"\u"#]),
    // A cluster ends in the letter that takes the rest.
    (["-Jaroot", "tty1"], ["-f", "--", "root"]),
    (["-L=never", "-a", "root", "tty1"], ["-f", "--", "root"]),
  ])
  func `login arguments`(_ arguments: [String], _ expected: [String]) {
    #expect(GettyOptions(arguments).loginArguments == expected)
  }

  @Test func `login program and terminal`() {
    #expect(GettyOptions(["-nl", "/bin/sh", "tty1"]).program == "/bin/sh")
    #expect(GettyOptions(["--login-program", "/x", "tty1"]).program == "/x")
    #expect(GettyOptions(["-L", "0", "ttyS0", "vt100"]).terminal == "ttyS0")
    #expect(GettyOptions(["-o", "x", "-", "$TERM"]).terminal == nil)
  }

  @Test(arguments: [
    (["-p", "--", #"\u"#], false, #"\u"#), (["-f", "--", "pi"], true, "pi"), (["-f", "root"], true, "root"),
    (["-froot"], true, "root"), (["-pf", "root"], true, "root"), (["-fp", "root"], true, "root"),
    (["-h", "host", "root"], false, "root"), (["-hhost", "-f", "root"], true, "root"), (["root"], false, "root"),
    (["--", "-f"], false, "-f"), (["-p", "-f", "--", "kid"], true, "kid"),
  ])
  func `login options`(_ arguments: [String], _ skips: Bool, _ user: String) {
    let options = LoginOptions(arguments)
    #expect(options.skipsAuthentication == skips)
    #expect(options.user == user)
  }
}
