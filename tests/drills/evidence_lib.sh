# Sourced by the drills: a scratch folder, servers on unix sockets, a PostgreSQL of one's own. Expects $flightplan.
drills="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
postgres="$drills/../support/postgres.sh"
work="$(mktemp -d /tmp/flightplan-drill-XXXXXX)"
chmod 0711 "$work"  # PostgreSQL runs as another user
servers=()
have_postgres=false

cleanup() {
  for pid in "${servers[@]}"; do { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null || true; done
  ! $have_postgres || "$postgres" stop "$work/pg" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

fail() {
  echo "FAILED: $*" >&2
  tail -n 20 "$work"/*.log >&2 2>/dev/null || true
  exit 1
}

# start_postgres: sets $url; a machine without PostgreSQL skips the drill.
start_postgres() {
  local code=0
  url="$("$postgres" start "$work/pg")" || code=$?
  [ "$code" != 77 ] || exit 77
  [ "$code" = 0 ] || fail "PostgreSQL does not start"
  have_postgres=true
}

# start_server NAME STORE [FLAGS]: serves on unix:$work/NAME.sock; sets $server.
start_server() {
  local name="$1" store="$2"
  shift 2
  rm -f "$work/$name.sock"
  : >"$work/$name.log"
  FLIGHTPLAN_EVIDENCE_STORE="$store" "$flightplan" serve --listen="unix:$work/$name.sock" --http_listen= --drain_delay=0s \
    "$@" 2>>"$work/$name.log" &
  server=$!
  servers+=("$server")
  for _ in $(seq 1200); do
    ! grep -q '"msg":"serving"' "$work/$name.log" || return 0
    kill -0 "$server" 2>/dev/null || fail "the server ended while starting"
    sleep 0.05
  done
  fail "the server does not start"
}
