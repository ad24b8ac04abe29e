# A site on a cluster of two ejabberd nodes, for Tests/end-to-end. Sourced after deploy/lib/site.sh.
#
# In front of the nodes is haproxy, as it would be in earnest: it passes TLS through, leads devices to node 1 and
# operators to node 2, and both to the other node where theirs is gone. Everything lies below $work and ends with the script.

cluster_programs="erl erlc epmd haproxy"

cluster_is_possible() {
  local program
  for program in $cluster_programs; do command -v "$program" >/dev/null || return 1; done
  ejabberd_code=$(dirname "$(dpkg -L ejabberd 2>/dev/null | grep 'ebin/ejabberd\.app$')")
  [ "$ejabberd_code" != . ]
}

# The site, and the cluster in the place of its broker. A port that was free a moment ago may be taken by now: then the same
# with others.
start_cluster_site() {
  local tries
  for tries in 1 2 3; do
    if try_cluster; then return; fi
    stop_all
    children=()
    rm -rf "$work/site" "$work/n1" "$work/n2"
  done
  fail "no cluster: $why"
}

try_cluster() {
  local device_port operator_port ports
  read -r device_port operator_port < <(free_ports)
  read -r -a ports < <(echo "$(free_ports)" "$(free_ports)" "$(free_ports)")
  why="two of the ports are the same"
  [ "$(printf '%s\n' "$device_port" "$operator_port" "${ports[@]}" | sort -u | wc -l)" = 8 ] || return
  "$bin/posturectl" init "$work/site" --site quickstart --device-port "$device_port" \
    --operator-port "$operator_port" >"$work/init.log" 2>&1 || fail "posturectl init: $(tail -n 1 "$work/init.log")"
  for node in 1 2; do
    "$bin/posturectl" broker "$work/n$node" --home "$work/site" --listen 127.0.0.1 \
      --device-port "${ports[node]}" --operator-port "${ports[node + 2]}" >/dev/null || fail "posturectl broker"
    (cd "$work/n$node" && erlc mod_posture.erl) || fail "mod_posture.erl cannot be compiled"
  done
  cookie=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  export ERL_EPMD_PORT=${ports[5]}
  start "$work/epmd.log" epmd -address 127.0.0.1 -port "$ERL_EPMD_PORT"
  start_node 1 && start_node 2 || return
  why="the nodes do not join"
  wait_until 60 node_call 2 ejabberd_cluster join "['n1@localhost']" && wait_until 30 is_joined &&
    wait_until 30 node_is_up 2 || return
  proxy "$device_port" "$operator_port" "${ports[@]}" >"$work/haproxy.cfg"
  start "$work/haproxy.log" haproxy -db -f "$work/haproxy.cfg"
  why="haproxy does not start"
  wait_until 20 port_is_open "$operator_port"
}

port_is_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Where the node's pid is kept: node_pid[N].
start_node() {
  local folder="$work/n$1"
  (
    cd "$folder"
    exec env HOME="$folder" EJABBERD_CONFIG_PATH="$folder/ejabberd.yml" EJABBERD_LOG_PATH="$folder/ejabberd.log" \
      setpriv --pdeathsig KILL erl -sname "n$1@localhost" -setcookie "$cookie" -start_epmd false \
      -kernel inet_dist_use_interface '{127,0,0,1}' -mnesia dir "\"$folder/mnesia\"" \
      -pa "$ejabberd_code" -pa "$folder" -s ejabberd -noinput
  ) </dev/null >"$folder/out" 2>&1 &
  node_pid[$1]=$!
  children+=("$!")
  if wait_until 60 node_is_up "$1" && ! grep -q eaddrinuse "$folder/out"; then return; fi
  why="node $1: $(tail -n 1 "$folder/out")"
  return 1
}

# kill -9.
kill_node() {
  kill -9 "${node_pid[$1]}"
  wait "${node_pid[$1]}" 2>/dev/null || true
}

# NODE MODULE FUNCTION ARGUMENTS, as Erlang writes them. The status says whether the call gave ok or true.
node_call() {
  HOME="$work/n$1" timeout 30 erl -sname "ask$BASHPID@localhost" -hidden -start_epmd false -setcookie "$cookie" -noinput -eval "
    R = rpc:call('n$1@localhost', $2, $3, $4, 20000), io:format(\"~0p~n\", [R]),
    halt(case R of ok -> 0; true -> 0; L when is_list(L), length(L) > 1 -> 0; _ -> 1 end)."
}

node_is_up() { node_call "$1" gen_mod is_loaded '[<<"quickstart">>, mod_mqtt]'; }
is_joined() { node_call 1 ejabberd_cluster get_nodes '[]' && node_call 2 ejabberd_cluster get_nodes '[]'; }

proxy() { # DEVICES OPERATORS D1.. as in start_cluster_site
  local devices=$1 operators=$2
  shift 2
  local ports=("$@")
  cat <<EOF
defaults
  mode tcp
  option redispatch
  retries 3
  timeout connect 2s
  timeout client 2h
  timeout server 2h
  default-server check inter 500ms fall 2 rise 2 on-marked-down shutdown-sessions
listen devices
  bind 127.0.0.1:$devices
  server n1 127.0.0.1:${ports[1]}
  server n2 127.0.0.1:${ports[2]} backup
listen operators
  bind 127.0.0.1:$operators
  server n2 127.0.0.1:${ports[4]}
  server n1 127.0.0.1:${ports[3]} backup
EOF
}
