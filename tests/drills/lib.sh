# Shared by the drills: servers on free loopback ports. Sourced, not run.
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
bin="${FLIGHTPLAN_BIN:-$here/../../build/release/bin}"
flightplan="$bin/flightplan"
# shellcheck source=tests/support/server.sh
source "$here/../support/server.sh"
# Said here: in a pipe, or before a "|| true", nobody would see it.
for program in "$flightplan" "$bin/load_client"; do
  [ -x "$program" ] || { echo "$(basename "$0"): $program is missing, or no program: build it first" >&2; exit 1; }
done
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# serve NAME [FLAGS...]: starts a server and sets pid_NAME, port_NAME and http_NAME. Ports stay the same at a restart.
serve() {
  local name="$1"; shift
  local port="port_$name" http="http_$name"
  [ -n "${!port:-}" ] || printf -v "$port" %s "$(free_port)"
  [ -n "${!http:-}" ] || printf -v "$http" %s "$(free_port)"
  spawn_server "$name" --listen="127.0.0.1:${!port}" --http_listen="127.0.0.1:${!http}" "$@"
  printf -v "pid_$name" %s "$server"
  wait_for "$name does not get ready" curl -sf -o "$work/ready" "http://127.0.0.1:${!http}/readyz"
}
load() { "$bin/load_client" "$@"; }
field() { sed -n "s/.*\\b$1=\\([0-9.]*\\).*/\\1/p"; }
# cpu_ms PID: what it has used so far.
cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{printf "%d", ($14 + $15) * 1000 / hz}' "/proc/$1/stat"; }
rss_mib() { awk '/VmRSS/ {printf "%d", $2 / 1024}' "/proc/$1/status"; }
descriptors() { ls "/proc/$1/fd" | wc -l; }
