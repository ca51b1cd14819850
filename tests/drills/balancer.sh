# Sourced after lib.sh by drills that put deploy/haproxy before their servers.
command -v haproxy >/dev/null || skip "haproxy is not installed (deploy/setup.sh installs it)"
# balance REPLICA...: starts HAProxy before servers that `serve` has started, at most three, and waits until it knows which
# of its three are there. Sets pid_front and its addresses, front and front_http. Settings of haproxy.cfg come from the
# environment.
balance() {
  local letter port missing=0
  for letter in A B C; do
    if [ $# -gt 0 ]; then
      port="port_$1"
      export "FLIGHTPLAN_$letter=127.0.0.1:${!port}"
      shift
    else
      export "FLIGHTPLAN_$letter=127.0.0.1:1"  # nobody there
      missing=$((missing + 3))  # it has three lists of them
    fi
  done
  front="127.0.0.1:$(free_port)"
  front_http="127.0.0.1:$(free_port)"
  : >"$work/haproxy.log"
  FLIGHTPLAN_FRONT="$front" FLIGHTPLAN_FRONT_HTTP="$front_http" \
    haproxy -f "$here/../../deploy/haproxy/strangers.cfg" -f "$here/../../deploy/haproxy/haproxy.cfg" >"$work/haproxy.log" 2>&1 &
  pid_front=$!
  wait_for "HAProxy does not start" knows_replicas "$missing"
}
# refused_in_front: the calls that it has refused.
refused_in_front() {
  curl -s "http://$front_http/metrics" | sed -n 's/^haproxy_backend_http_requests_total{proxy="refuse"} //p'
}
knows_replicas() {
  kill -0 "$pid_front" 2>/dev/null || fail "HAProxy ended"
  [ "$(grep -c '^Server .* is DOWN' "$work/haproxy.log")" -ge "$1" ] && (exec 3<>"/dev/tcp/${front/:/\/}") 2>/dev/null
}
