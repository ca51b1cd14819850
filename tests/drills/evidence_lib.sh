# Sourced by the drills: servers on unix sockets with a store, a PostgreSQL of one's own. Expects $flightplan.
drills="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
postgres="$drills/../support/postgres.sh"
# shellcheck source=tests/support/server.sh
source "$drills/../support/server.sh"
chmod 0711 "$work"  # PostgreSQL runs as another user
have_postgres=false

cleanup() {
  end_jobs
  ! $have_postgres || "$postgres" stop "$work/pg" 2>/dev/null || true
  rm -rf "$work"
}

# start_postgres: sets $url; a machine without PostgreSQL skips the drill.
start_postgres() {
  local code=0
  url="$("$postgres" start "$work/pg")" || code=$?
  [ "$code" != 77 ] || exit 77
  [ "$code" = 0 ] || fail "PostgreSQL does not start"
  have_postgres=true
}

# start_replica NAME STORE [FLAGS]: serves on unix:$work/NAME.sock; sets $server.
start_replica() {
  local name="$1" store="$2"
  shift 2
  rm -f "$work/$name.sock"
  FLIGHTPLAN_EVIDENCE_STORE="$store" start_server "$name" --listen="unix:$work/$name.sock" --http_listen= --drain_delay=0s "$@"
}
