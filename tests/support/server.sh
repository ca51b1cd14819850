# Sourced by tests and drills that run the real binary: a scratch folder, servers that are gone when the script ends, one
# way to fail. Expects $flightplan where a server is started.
set -euo pipefail
work="$(mktemp -d /tmp/flightplan-test-XXXXXX)"

# end_family PID...: kills jobs of this shell with what they have started, and is back when nobody of them runs: one who is
# still within a call would write into the folder while it is removed.
end_family() {
  local pid one family
  for pid in "$@"; do
    # Stopped first: it starts nobody between the look at its children and its end.
    kill -STOP "$pid" 2>/dev/null || continue
    family="$(grep -ls "^PPid:[[:space:]]*$pid\$" /proc/[0-9]*/status | tr -dc '0-9\n' || true)"
    { kill -KILL "$pid" $family && wait "$pid"; } 2>/dev/null || true
    for one in $family; do
      for _ in $(seq 200); do
        grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$one"/task/*/status || break # its threads may outlive the first
        sleep 0.05
      done
    done
  done
}
end_jobs() { end_family $(jobs -pr); }
cleanup() {
  end_jobs
  rm -rf "$work"
}
trap cleanup EXIT

fail() {
  echo "FAILED: $*" >&2
  tail -n 20 "$work"/*.log "$work/out" "$work/err" >&2 2>/dev/null || true
  exit 1
}
skip() { echo "skipped: $*"; exit 77; }

# wait_for WHAT COMMAND...: until it succeeds, for a minute; a busy machine is no fault.
wait_for() {
  local what="$1"
  shift
  for _ in $(seq 1200); do
    ! "$@" || return 0
    sleep 0.05
  done
  fail "$what"
}

# A field of the log line that says "serving": served NAME listen|http_port.
served() { sed -n 's/.*"msg":"serving".*"'"$2"'":"\{0,1\}\([^",}]*\).*/\1/p' "$work/$1.log" | tail -n 1; }

# spawn_server NAME FLAGS...: sets $server, its process id; its log is $work/NAME.log.
spawn_server() {
  local name="$1"
  shift
  "$flightplan" serve "$@" 2>"$work/$name.log" &
  server=$!
}

is_serving() {
  kill -0 "$server" 2>/dev/null || fail "server $1 ended while starting"
  grep -q '"msg":"serving"' "$work/$1.log"
}

# start_server NAME FLAGS...: as spawn_server, and waits until it serves; its log must be of level info.
start_server() {
  spawn_server "$@"
  wait_for "server $1 does not start" is_serving "$1"
}

# stop_server PID: as an administrator would; it must end with 0.
stop_server() {
  local code=0
  kill -TERM "$1"
  wait "$1" || code=$?
  [ "$code" = 0 ] || fail "SIGTERM ends the server with $code, not 0"
}
