# Shared by the drills: servers on free loopback ports that are gone when the script ends. Sourced, not run.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
bin="${FLIGHTPLAN_BIN:-$here/../../build/release/bin}"
work="$(mktemp -d)"
pids=()
finish() {
  for pid in "${pids[@]}"; do { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT
die() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "skipped: $*"; exit 77; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# serve NAME [FLAGS...]: starts a server and sets pid_NAME, port_NAME and http_NAME. Ports stay the same at a restart.
serve() {
  local name="$1"; shift
  local port="port_$name" http="http_$name"
  [ -n "${!port:-}" ] || printf -v "$port" %s "$(free_port)"
  [ -n "${!http:-}" ] || printf -v "$http" %s "$(free_port)"
  "$bin/flightplan" serve --listen="127.0.0.1:${!port}" --http_listen="127.0.0.1:${!http}" "$@" 2>>"$work/$name.log" &
  printf -v "pid_$name" %s $!
  pids+=($!)
  for _ in $(seq 200); do
    ! curl -sf -o "$work/ready" "http://127.0.0.1:${!http}/readyz" || return 0
    sleep 0.05
  done
  die "$name does not get ready: $(tail -3 "$work/$name.log")"
}
load() { "$bin/load_client" "$@"; }
field() { sed -n "s/.*\\b$1=\\([0-9.]*\\).*/\\1/p"; }
rss_mib() { awk '/VmRSS/ {printf "%d", $2 / 1024}' "/proc/$1/status"; }
descriptors() { ls "/proc/$1/fd" | wc -l; }
