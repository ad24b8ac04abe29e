# Shared by deploy/quickstart, Tests/run and .ci/run. Sourced, never run.

say() { printf '%s\n' "$*" >&2; }
step() { printf '==> %s\n' "$*" >&2; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# Runs a command as root: as it is, or by sudo.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -- "$@"; fi
}

# The Swift toolchain is looked for before sudo could change PATH.
find_swift() {
  SWIFT=$(command -v swift) || fail "no swift in PATH: install the Swift 6.3 toolchain first"
  export SWIFT
}

# What the build needs, and what a device needs beside it.
BUILD_PACKAGES="binutils libc6-dev libstdc++-12-dev gcc pkg-config libmosquitto-dev libssl-dev libsqlite3-dev
  libkeyutils-dev libcrypt-dev libmicrohttpd-dev libtss2-dev"
BROKER_PACKAGES="mosquitto"

missing_packages() {
  local name
  for name in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || printf '%s ' "$name"
  done
}

# Installs what is missing of the packages named. Their daemons are kept from starting.
install_packages() {
  local missing
  command -v dpkg-query >/dev/null || fail "this is no Debian system: install by hand: $*"
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || fail "neither root nor sudo: cannot install $missing"
  step "installing Debian packages: $missing"
  # shellcheck disable=SC2086  # a list of words
  as_root bash "$(dirname "${BASH_SOURCE[0]}")/install-packages.sh" $missing || fail "could not install: $missing"
}

# Builds what is installed, the agent and posturectl, and the products named, with Swift's libraries inside, without
# symbols, and with every library bound before the first step, so that the table of their functions is read-only from then
# on. Nobody loads anything into them, so they export nothing. The C++ library is inside too: as a shared one it costs each
# start more than all the others.
build_release() {
  local product inside="$ROOT/.build/static"
  step "building (some minutes the first time)"
  mkdir -p "$inside"
  ln -sf "$(gcc -print-file-name=libstdc++.a)" "$inside/"
  for product in posture-agent posturectl "$@"; do
    "$SWIFT" build --package-path "$ROOT" -c release --static-swift-stdlib -Xswiftc "-L$inside" -Xlinker -s \
      -Xlinker -z -Xlinker now -Xlinker --no-export-dynamic --product "$product" >&2 ||
      fail "the build failed"
  done
}
