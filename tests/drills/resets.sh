#!/usr/bin/env bash
# Streams that are opened and reset at once (CVE-2023-44487), from an address of their own, beside a good client: the
# balancer ends those connections, and no call of the good client fails. usage: resets.sh [SECONDS [bare]]
# bare: the same at the server itself, for comparison; nothing of it is judged.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/balancer.sh"
seconds="${1:-10}"
serve a --log_level=error
balance a

# beside_resets WHAT ADDRESS: prints the figures of the good client and of the attack, and sets good.
beside_resets() {
  local server_ms balancer_ms attack
  server_ms="$(cpu_ms "$pid_a")" balancer_ms="$(cpu_ms "$pid_front")"
  "$here/reset_streams.py" "${2##*:}" "$((seconds + 1))" >"$work/attack" &
  attack=$!
  sleep 0.5
  load --target="$2" --rate=50 --seconds="$seconds" >"$work/good" 2>"$work/errors" || true
  wait "$attack"
  good="$(cat "$work/good")"
  echo "resets $1: attack $(cat "$work/attack"), server_ms=$(($(cpu_ms "$pid_a") - server_ms))" \
    "balancer_ms=$(($(cpu_ms "$pid_front") - balancer_ms)), good client $good"
}

if [ "${2:-}" = bare ]; then
  beside_resets "at the server" "127.0.0.1:$port_a"
  # What it still has to do is not the balancer's.
  kill -KILL "$pid_a" && wait "$pid_a" 2>/dev/null || true
  serve a --log_level=error
fi
beside_resets "at the balancer" "$front"
[ "$(echo "$good" | field failed)" = 0 ] && [ "$(echo "$good" | field unanswered)" = 0 ] ||
  fail "calls of the good client failed: $(cat "$work/errors")"
[ "$(field cut <"$work/attack")" -gt 0 ] || fail "no connection was ended"
