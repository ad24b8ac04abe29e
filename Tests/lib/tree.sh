# Debian trees for the long tests: made, entered, and booted with systemd. Sourced after common.sh, as root. The caller sets
# $top, a folder that it removes, and $tree.

passed=0
failed=0

# Counts whether a command succeeds; its words are shown where it does not.
check() {
  local what=$1
  shift
  if "$@" >"$top/check.log" 2>&1; then passed=$((passed + 1)); say "ok: $what"
  else failed=$((failed + 1)); say "NOT OK: $what"; tail -n "${check_lines:-8}" "$top/check.log" >&2; fi
}

# Copies the unpacked minbase tree that is given, or makes one. Its packages come from where this machine's do.
make_tree() {
  if [ -n "${1:-}" ]; then cp -a "$1" "$tree"
  else
    step "a bare tree"
    debootstrap --variant=minbase bookworm "$tree" >"$top/debootstrap.log" 2>&1 ||
      fail "debootstrap: $(tail -n 1 "$top/debootstrap.log")"
  fi
  rm -rf "$tree/etc/apt/sources.list" "$tree/etc/apt/sources.list.d" "$tree/etc/apt/apt.conf.d"
  cp -a /etc/apt/sources.list.d /etc/apt/apt.conf.d "$tree/etc/apt/"
  [ ! -e /etc/apt/sources.list ] || cp -a /etc/apt/sources.list "$tree/etc/apt/"
  cp -L /etc/resolv.conf /etc/hosts "$tree/etc/" 2>/dev/null || true
}

# Mounts what a tree needs to be run, and makes it the root of its namespaces: the first words of a process in its own. A
# chroot would not do, for the kernel lets nobody in one make a namespace of users.
# shellcheck disable=SC2016  # for the inner shell
enter_tree='set -e; mount --make-rprivate /; mount --rbind "$1" "$1"; cd "$1"; mount -t proc proc proc; mount -t sysfs sysfs sys
  mount -t tmpfs tmpfs tmp; mount -t tmpfs -o mode=755 tmpfs dev; mkdir dev/pts dev/shm; ln -s /proc/self/fd dev/fd
  for node in null zero full random urandom tty; do touch dev/$node; mount --bind /dev/$node dev/$node; done
  mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts; ln -s pts/ptmx dev/ptmx
  pivot_root . .; umount -l .; shift; '

clean_path=/usr/sbin:/usr/bin:/sbin:/bin

# Runs a command in the tree with this machine's network, in namespaces that end with it.
in_tree() {
  unshare --mount --pid --fork --kill-child --uts --ipc bash -c "${before_entry:-}$enter_tree"'
    exec /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 PATH='$clean_path' "$@"' _ "$tree" "$@"
}

# Boots the tree's own systemd in namespaces without a network. It ends with this script, however that ends.
boot_tree() {
  local tries
  setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --uts --ipc --cgroup --net bash -c "$enter_tree"'
    mount -t cgroup2 none /sys/fs/cgroup; mount -t tmpfs -o mode=755 tmpfs /run; mount --make-rshared /
    exec /usr/bin/env -i container=test PATH='$clean_path' /lib/systemd/systemd --log-target=journal' _ "$tree" \
    </dev/null >"$top/boot.log" 2>&1 &
  booted=$!
  for tries in $(seq 100); do
    init=$(cat "/proc/$booted/task/$booted/children" 2>/dev/null | tr -d ' ') || true
    if [ -n "$init" ] && booted systemctl is-system-running 2>/dev/null | grep -qxE 'running|degraded'; then return; fi
    sleep 0.2
  done
  fail "systemd does not come up: $(tail -n 3 "$top/boot.log")"
}

# Runs a command in the booted tree.
booted() {
  nsenter -t "$init" -m -p -u -i -n -C -r -w -- \
    env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH=$clean_path "$@"
}

halt_tree() {
  [ -z "${booted:-}" ] || { kill -KILL "$booted" 2>/dev/null || true; wait "$booted" 2>/dev/null || true; }
}

# Waits until a command succeeds: seconds, its words.
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.2
  done
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }
