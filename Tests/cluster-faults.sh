# What a cluster is for, for Tests/end-to-end --cluster. Sourced where everything runs: one node is gone, comes back, and then
# the other one.

listen=$(free_ports | cut -d' ' -f1)
start "$work/monitor.log" "$bin/posturectl" monitor --listen "127.0.0.1:$listen" --home "$work/site"
monitor() { curl -sf -m 5 "http://127.0.0.1:$listen/api/v1/$1"; }
monitor_says() { local text; text=$(monitor "devices/$device") && grep -q "$1" <<<"$text"; }

# Rechecks, one after the other, from before the blow to some seconds after it: what each came to.
load() {
  local until=$1 status
  : >"$2"
  while [ "$(seconds)" -lt "$until" ]; do
    status=0
    "$bin/posturectl" recheck --device "$device" --wait --timeout 5 --json >/dev/null 2>&1 || status=$?
    echo "$status" >>"$2"
  done
}

# NODE: kill -9 while five askers ask without a pause (the device refuses some of that: rateLimited). No answer may be wrong;
# some may be missing while the agent or the asker looks for the other node.
blow() {
  local asker askers=() end
  end=$(($(seconds) + 20))
  for asker in 1 2 3 4 5; do
    load "$end" "$work/load.$asker" &
    askers+=("$!")
  done
  sleep 4
  kill_node "$1"
  for asker in "${askers[@]}"; do wait "$asker" || true; done
  local all answered
  all=$(cat "$work"/load.? | wc -l)
  answered=$(cat "$work"/load.? | grep -c '^[0-3]$' || true)
  note="$answered of $all rechecks answered or refused while node $1 was killed, $((all - answered)) silent"
  if grep -hvE '^(0|1|2|3|4|69)$' "$work"/load.? | sort | uniq -c; then return 1; fi
  [ "$answered" -ge 1 ]
}

recovers() { wait_until 40 answered; }
answered() {
  local status=0
  "$bin/posturectl" recheck --device "$device" --wait --timeout 5 || status=$?
  [ "$status" -le 2 ]
}

# A change at the device while a node is gone: its event, its verdict and its place in the chain.
policy_is_taken() {
  "$bin/posturectl" policy set "$1" >/dev/null && wait_until 30 monitor_says "\"policy\":\"$1\"" &&
    wait_until 20 monitor_says '"duePolicy":null'
}
chain_is_whole() { monitor_says '"forked":false' && monitor_says '"missing":\[\]' && ! monitor_says '"conditions":\["'; }
monitor_is_connected() { local text; text=$(monitor fleet) && grep -q '"notices":\[\]' <<<"$text"; }
exported_verifies() {
  "$bin/posturectl" export --device "$device" >"$work/export" && [ "$(wc -l <"$work/export")" -ge 10 ] &&
    "$bin/posturectl" verify "$work/export" --offline
}

# Asked of each node itself, past the proxy.
kept_on_both() {
  local node port
  for node in 1 2; do
    port=$(sed -n "s/^ *port: \([0-9]*\)$/\1/p" "$work/n$node/ejabberd.yml" | tail -n 1)
    client monitor mosquitto_sub -p "$port" -W 5 -C 3 -t "$topic/keys" -t "$topic/report" -t posture/v1/quickstart/trust \
      >"$work/kept.$node" || { echo "node $node"; return 1; }
  done
  [ "$(sort "$work/kept.1")" = "$(sort "$work/kept.2")" ]
}

# Who may do what, by trying it on the nodes: with the certificates of the roles and of the device.
rules_hold() {
  local expected who verb place got said
  mkdir -p "$work/site/$device"
  /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["tlsCertificate"])' <"$work/$device.bundle" \
    >"$work/site/$device/tls.pem"
  cp "$work/device/courier/tls-key.pem" "$work/site/$device/tls.key"
  while read -r expected who verb place; do
    case $verb in
      write) said=$(client "$who" mosquitto_pub -q 1 -t "posture/v1/$place" -m x 2>&1) || true ;;
      read) said=$(client "$who" mosquitto_sub -W 1 -t "posture/v1/$place" 2>&1) || true ;;
    esac
    got=yes
    if grep -qE 'failed|denied|Not authorized' <<<"$said"; then got=no; fi
    [ "$got" = "$expected" ] || { echo "$who $verb $place: $got: $said"; return 1; }
  done <<EOF
no $device write quickstart/d/nobody/report
no $device write quickstart/d/$device/cmd/recheck
no $device write quickstart/all/cmd/recheck
no $device write quickstart/trust
no $device write quickstart/policy
no $device write elsewhere/d/$device/report
yes $device read quickstart/d/$device/cmd/recheck
yes $device read quickstart/g/lathe/cmd/recheck
no $device read quickstart/d/nobody/cmd/recheck
no $device read quickstart/d/+/report
no $device read #
yes controller write quickstart/d/nobody/cmd/recheck
no controller write quickstart/d/nobody/report
no controller write quickstart/trust
no controller write quickstart/policy
no controller read quickstart/policy
no monitor write quickstart/d/nobody/cmd/recheck
no monitor write quickstart/d/monitor/report
yes monitor read quickstart/d/+/report
no policy write quickstart/trust
no policy read quickstart/d/+/report
no issuer write quickstart/d/nobody/report
no issuer write quickstart/policy
no issuer write quickstart/d/nobody/cmd/recheck
yes issuer write quickstart/d/nobody/renewal
no controller write quickstart/d/nobody/renewal
no $device write quickstart/d/$device/renewal
no issuer read quickstart/d/+/keys
yes issuer read quickstart/d/+/request
no monitor read quickstart/d/+/request
EOF
}
# Without a certificate, with a password, under another's name.
strangers_stay_out() {
  local words
  for words in "-u issuer" "-u issuer -P password" "-i issuer" \
    "--cert $work/site/monitor/tls.pem --key $work/site/monitor/tls.key -u issuer"; do
    # shellcheck disable=SC2086  # several words
    if timeout 20 mosquitto_pub --cafile "$work/site/tls/ca.pem" -h localhost -p "$port" -V 5 $words \
      -q 1 -t posture/v1/quickstart/trust -m x; then
      echo "$words: let in"
      return 1
    fi
  done
}

check "the rules are those of one broker" rules_hold
check "nobody gets in by a password or another's name" strangers_stay_out
check "the monitor has the device" wait_until 30 monitor_says '"online":true'
for node in 1 2; do
  other=$((3 - node))
  check "node $node is killed under load, and no answer is wrong" blow "$node"
  say "  $note"
  check "rechecks are answered by way of node $other" recovers
  check "the monitor is connected" wait_until 30 monitor_is_connected
  check "a new policy reaches the device, and its event the monitor" policy_is_taken "$([ "$node" = 1 ] && echo hardened || echo stolen)"
  check "the device is online, its chain whole, its state a verdict" wait_until 30 chain_is_whole
  say "with node $node gone:"
  statements
  check "node $node is started again" start_node "$node"
  check "node $node is back in the cluster" wait_until 60 is_joined
  say "with node $node back:"
  check "what was kept meanwhile is kept on both nodes" kept_on_both
  statements
done
check "every message of it all verifies again from the export" exported_verifies
