# Sourced after lib.sh by drills that put deploy/haproxy/front.cfg before one server.
command -v haproxy >/dev/null || skip "haproxy is not installed (deploy/setup.sh installs it)"
# put_front SOCKET: starts the front of the server that listens there, and waits for it. Sets pid_front, front and
# front_http. Without FLIGHTPLAN_FRONT_CERT in the environment it takes plain text.
put_front() {
  front="127.0.0.1:$(free_port)"
  front_http="127.0.0.1:$(free_port)"
  export FLIGHTPLAN_FRONT_LUA="$here/../../deploy/haproxy/front.lua"
  [ -n "${FLIGHTPLAN_FRONT_CERT:-}" ] || export FLIGHTPLAN_FRONT_PLAINTEXT=1
  FLIGHTPLAN_FRONT="$front" FLIGHTPLAN_FRONT_HTTP="$front_http" FLIGHTPLAN_SERVER="unix@$1" \
    haproxy -f "$here/../../deploy/haproxy/strangers.cfg" -f "$here/../../deploy/haproxy/front.cfg" >"$work/haproxy.log" 2>&1 &
  pid_front=$!
  wait_for "the front does not start" front_is_up
}
front_is_up() {
  kill -0 "$pid_front" 2>/dev/null || fail "the front ended"
  (exec 3<>"/dev/tcp/${front/:/\/}") 2>/dev/null
}
