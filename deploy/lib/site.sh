# A site of its own on this machine, for deploy/quickstart: a folder, a broker, an agent. Sourced after common.sh.

seconds() { date +%s; }

# The folder lies in the checkout, unless its path is too long for a Unix socket. One that a killed run left is removed.
make_work_folder() {
  local old pid base="$ROOT/.build/quickstart"
  mkdir -p "$ROOT/.build"
  for old in "$base".*; do
    pid=$(cat "$old/pid" 2>/dev/null) || continue
    [ -d "/proc/$pid" ] || rm -rf "$old"
  done
  [ ${#base} -le 70 ] || base=${TMPDIR:-/tmp}/posture-quickstart
  work=$(mktemp -d "$base.XXXXXX") || fail "cannot make a folder below $(dirname "$base")"
  chmod 755 "$work"
  echo $$ >"$work/pid"
  children=()
}

# A name as the wire wants it: lower case, digits, hyphens.
device_name() {
  local name
  name=$(uname -n | tr 'A-Z_.' 'a-z--' | tr -cd 'a-z0-9-' | sed 's/^-*//' | cut -c1-63)
  echo "${name:-this-machine}"
}

# Two ports of loopback that nobody listens on now, below those that connections go out from.
free_ports() {
  local port found=() tries
  for tries in $(seq 200); do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || found+=("$port")
    if [ ${#found[@]} = 2 ] && [ "${found[0]}" != "${found[1]}" ]; then echo "${found[@]}"; return; fi
    [ ${#found[@]} -lt 2 ] || found=("${found[0]}")
  done
  fail "no free port on loopback"
}

# Starts a program that ends when this script does, however that ends; its words go to a log. Gives the pid in $pid.
start() {
  local log=$1
  shift
  setpriv --pdeathsig TERM "$@" </dev/null >"$log" 2>&1 &
  pid=$!
  children+=("$pid")
}

stop_all() {
  local child
  for child in "${children[@]-}"; do [ -z "$child" ] || kill "$child" 2>/dev/null || true; done
  for child in "${children[@]-}"; do [ -z "$child" ] || wait "$child" 2>/dev/null || true; done
  # Closing its input ends the attester that sudo started.
  if [ -n "${attester_input:-}" ]; then exec {attester_input}>&-; fi
}

# Waits until a command succeeds: its words, seconds.
wait_until() {
  local limit=$1 end
  shift
  end=$(($(seconds) + limit))
  until "$@" >/dev/null 2>&1; do
    [ "$(seconds)" -lt "$end" ] || return 1
    sleep 0.1
  done
}

# A site and its running broker. A port that was free a moment ago may be taken by now: then the same with others.
start_site() {
  local mosquitto tries device_port operator_port
  mosquitto=$(PATH=$PATH:/usr/sbin:/sbin command -v mosquitto) || fail "mosquitto is not installed"
  for tries in 1 2 3 4 5; do
    rm -rf "$work/site"
    read -r device_port operator_port < <(free_ports)
    "$bin/posturectl" init "$work/site" --site quickstart --device-port "$device_port" \
      --operator-port "$operator_port" >"$work/init.log" 2>&1 || fail "posturectl init: $(tail -n 1 "$work/init.log")"
    start "$work/broker.log" "$mosquitto" -c "$work/site/broker/mosquitto.conf"
    if wait_until 10 settled "$operator_port" "$pid" && [ -d "/proc/$pid" ]; then return; fi
    grep -q 'Address already in use' "$work/broker.log" || break
  done
  fail "the broker: $(tail -n 1 "$work/broker.log")"
}

# A port of loopback is listened on, or the process that should has ended.
settled() { [ ! -d "/proc/$2" ] || (exec 3<>"/dev/tcp/127.0.0.1/$1"); }

# Numbers without an account: nothing of this machine belongs to them.
attester_user=64501
courier_user=64502

enroll_device() {
  local as=()
  [ "$(id -u)" != 0 ] || as=(--user "$attester_user" --courier "$courier_user")
  "$bin/posture-agent" enroll --folder "$work/device" "${as[@]}" --name "$device" --out "$work/$device.request" \
    >"$work/enroll.log" 2>&1 || fail "posture-agent enroll: $(tail -n 1 "$work/enroll.log")"
  "$bin/posturectl" enroll "$work/$device.request" --group quickstart --out "$work/$device.bundle" >>"$work/enroll.log" 2>&1 ||
    fail "posturectl enroll: $(tail -n 1 "$work/enroll.log")"
  chmod 644 "$work/$device.bundle"
  "$bin/posture-agent" enroll --folder "$work/device" "${as[@]}" --install "$work/$device.bundle" >>"$work/enroll.log" 2>&1 ||
    fail "posture-agent enroll --install: $(tail -n 1 "$work/enroll.log")"
}

# As root, `run` starts the attester and gives up its rights; else sudo starts the attester alone.
start_agent() {
  local as=()
  printf '{"state": "%s", "socket": "%s", "clock": "trusted"}\n' "$work/device" "$work/attester.sock" >"$work/agent.json"
  chmod 644 "$work/agent.json"
  if [ "$(id -u)" = 0 ]; then as=(--user "$attester_user" --courier "$courier_user"); else start_attester_by_sudo; fi
  start "$work/agent.log" "$bin/posture-agent" run --config "$work/agent.json" "${as[@]}"
}

# sudo may ask for the password now, at the terminal; the process in the background cannot.
# Its child outlives a killed script unless it watches something of the script's: its standard input.
start_attester_by_sudo() {
  sudo -v || fail "the attester needs root, and sudo says no"
  # As options: as root it would not believe a configuration that somebody else can change.
  local words=(attest --keep --folder "$work/device" --socket "$work/attester.sock" --trusted-clock
    --user "$(id -u):$(id -g)" --courier "$(id -u)")
  mkfifo "$work/attester.input"
  # shellcheck disable=SC2016  # expanded by the inner shell
  sudo -n -- sh -c '"$@" & child=$!; cat >/dev/null; kill "$child"' sh "$bin/posture-agent" "${words[@]}" \
    <"$work/attester.input" >"$work/attester.log" 2>&1 &
  exec {attester_input}>"$work/attester.input"
}

wait_for_report() {
  wait_until 60 has_report || fail "no report: $(tail -n 1 "$work/agent.log")"
}

# The exit status of show is the verdict's.
has_report() {
  local status=0
  "$bin/posturectl" show "$device" --json || status=$?
  [ "$status" -le 2 ]
}
