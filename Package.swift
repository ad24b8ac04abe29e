// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// A library or executable of ours; every one shares the same strict settings.
func ours(_ name: String, _ needs: [Target.Dependency] = [], resources: [Resource] = []) -> Target {
  .target(name: name, dependencies: needs, resources: resources, swiftSettings: settings)
}

func command(_ name: String, _ needs: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: needs, swiftSettings: settings)
}

func tests(_ name: String, _ needs: [Target.Dependency], resources: [Resource] = []) -> Target {
  .testTarget(name: name, dependencies: needs + ["TestKit"], resources: resources, swiftSettings: settings)
}

/// A C library of the operating system, with the package that brings it.
func system(_ name: String, pkgConfig: String, apt: String, brew: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt]), .brew([brew])])
}

func linuxOnly(_ name: String, pkgConfig: String, apt: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt])])
}

let package = Package(
  name: "posture",
  products: [
    .library(name: "PostureCheck", targets: ["Posture", "PostureCheck"]),
    .executable(name: "posture-agent", targets: ["posture-agent"]),
    .executable(name: "posturectl", targets: ["posturectl"]),
    .executable(name: "posture-bench", targets: ["posture-bench"]),
  ],
  targets: [
    // C libraries, one target each.
    system("CMosquitto", pkgConfig: "libmosquitto", apt: "libmosquitto-dev", brew: "mosquitto"),
    system("COpenSSL", pkgConfig: "openssl", apt: "libssl-dev", brew: "openssl@3"),
    system("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev", brew: "sqlite"),
    linuxOnly("CKeyutils", pkgConfig: "libkeyutils", apt: "libkeyutils-dev"),
    linuxOnly("CCrypt", pkgConfig: "libcrypt", apt: "libcrypt-dev"),
    system("CMicrohttpd", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev", brew: "libmicrohttpd"),
    .target(name: "CLinux"),
    // Headers of tpm2-tss at build time (apt: libtss2-dev), the library itself only where it is found at run time.
    .target(name: "CTPM"),
    // No headers and no libraries at build time: what a machine has is found at run time.
    .target(name: "CUnpack"),
    // The functions of libdbus; the library too only where it is found at run time.
    .target(name: "CDBus"),

    // The pure model, and the ground the rest stands on.
    ours("Posture"),
    ours("PosturePlatform", ["CLinux"]),
    ours("PostureSQLite", ["CSQLite"]),
    ours("PostureTerminal", ["Posture", "PosturePlatform"]),

    // On the device.
    ours(
      "PostureProbes",
      ["Posture", "PosturePlatform", "CLinux", "CTPM", "CUnpack", "CDBus", "CKeyutils", "CCrypt", "COpenSSL"]),
    ours("PostureCheck", ["Posture", "PosturePlatform", "PostureProbes"]),
    ours("PostureTokens", ["Posture", "PosturePlatform", "COpenSSL"]),
    ours(
      "PostureAttester", ["Posture", "PosturePlatform", "PostureProbes", "PostureTokens", "PostureSQLite", "CLinux"]),
    ours("PostureMQTT", ["Posture", "PosturePlatform", "CLinux", "CMosquitto", "COpenSSL"]),
    ours("PostureCourier", ["Posture", "PosturePlatform", "PostureTokens", "PostureMQTT", "CLinux"]),

    // At the controller and the monitor.
    ours(
      "PostureFleet",
      [
        "Posture", "PosturePlatform", "PostureTerminal", "PostureTokens", "PostureMQTT", "PostureSQLite", "CMicrohttpd",
      ],
      resources: ["Page/page.html", "Page/page.css", "Page/page.js", "Page/icon.svg", "Home/mod_posture.erl"].map {
        .embedInCode($0)
      }),

    command(
      "posture-agent",
      [
        "Posture", "PosturePlatform", "PostureTerminal", "PostureProbes", "PostureTokens", "PostureAttester",
        "PostureMQTT", "PostureCourier",
      ]),
    command(
      "posturectl",
      ["Posture", "PosturePlatform", "PostureTerminal", "PostureTokens", "PostureMQTT", "PostureFleet"]),
    command(
      "posture-bench",
      [
        "Posture", "PosturePlatform", "PostureTerminal", "PostureProbes", "PostureTokens", "PostureAttester",
        "PostureMQTT", "PostureFleet", "PostureSQLite", "COpenSSL", "CMosquitto", "CLinux",
      ]),

    .target(
      name: "TestKit", dependencies: ["Posture", "PosturePlatform", "PostureTokens"], path: "Tests/TestKit",
      swiftSettings: settings),
    tests("PostureTests", ["Posture"]),
    tests("PosturePlatformTests", ["PosturePlatform"]),
    tests("PostureProbesTests", ["Posture", "PosturePlatform", "PostureProbes"]),
    tests("PostureCheckTests", ["Posture", "PosturePlatform", "PostureCheck"]),
    tests("PostureTokensTests", ["Posture", "PosturePlatform", "PostureTokens", "COpenSSL"]),
    tests("PostureAttesterTests", ["Posture", "PosturePlatform", "PostureProbes", "PostureTokens", "PostureAttester"]),
    tests("PostureMQTTTests", ["Posture", "PosturePlatform", "PostureMQTT"]),
    tests("PostureCourierTests", ["Posture", "PosturePlatform", "PostureTokens", "PostureMQTT", "PostureCourier"]),
    tests(
      "PostureFleetTests",
      [
        "Posture", "PosturePlatform", "PostureTerminal", "PostureProbes", "PostureTokens", "PostureMQTT",
        "PostureFleet",
      ]),
    tests(
      "EndToEndTests",
      ["Posture", "PosturePlatform", "PostureTokens", "PostureAttester", "PostureMQTT", "PostureFleet"]),
  ],
  swiftLanguageModes: [.v6]
)

#if os(macOS)
  // On Apple's systems the package is the library: the model, Apple's own two probes, and the front.
  let apple = ["Posture", "PostureProbes", "PostureCheck", "CMosquitto", "COpenSSL"]
  package.platforms = [.macOS(.v13)]
  package.products.removeAll { $0.name != "PostureCheck" }
  package.targets.removeAll { !apple.contains($0.name) }
  for target in package.targets where target.name != "PostureCheck" { target.dependencies.removeAll() }
  for target in package.targets where target.name == "PostureProbes" {
    target.sources = ["Apple"]
    target.dependencies = ["Posture"]
  }
  for target in package.targets where target.name == "PostureCheck" {
    target.dependencies = ["Posture", "PostureProbes"]
  }
#endif
