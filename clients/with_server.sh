#!/usr/bin/env bash
# Runs a command with the address of a server as its last argument. usage: with_server.sh FLIGHTPLAN COMMAND...
set -euo pipefail
flightplan="$1"
shift
work="$(mktemp -d)"
server=""
cleanup() {
  [ -z "$server" ] || kill -TERM "$server" 2>/dev/null || true
  [ -z "$server" ] || wait "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
"$flightplan" serve --listen=127.0.0.1:0 --http_listen= --drain_delay=0s 2>"$work/log" &
server=$!
address=""
for _ in $(seq 400); do
  address="$(sed -n 's/.*"msg":"serving".*"listen":"\([^",]*\).*/\1/p' "$work/log")"
  [ -z "$address" ] || break
  kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
  sleep 0.05
done
[ -n "$address" ] || { echo "the server does not say where it serves" >&2; cat "$work/log" >&2; exit 1; }
"$@" "$address"
