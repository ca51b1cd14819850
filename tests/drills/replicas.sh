#!/usr/bin/env bash
# Three replicas behind HAProxy under load from a client that retries: one is killed every two seconds, then all are
# restarted in turn. usage: replicas.sh [SECONDS [CALLS_PER_SECOND]]
source "$(dirname "$0")/lib.sh"
command -v haproxy >/dev/null || { echo "skipped: haproxy is not installed (deploy/setup.sh installs it)"; exit 77; }
seconds="${1:-60}"
rate="${2:-500}"
flags=(--log_level=error --drain_delay=2s)
for name in a b c; do serve "$name" "${flags[@]}"; done
front="$(free_port)"
export FLIGHTPLAN_FRONT="127.0.0.1:$front"
export FLIGHTPLAN_A="127.0.0.1:$port_a" FLIGHTPLAN_B="127.0.0.1:$port_b" FLIGHTPLAN_C="127.0.0.1:$port_c"
export FLIGHTPLAN_A_HTTP="$http_a" FLIGHTPLAN_B_HTTP="$http_b" FLIGHTPLAN_C_HTTP="$http_c"
haproxy -q -f "$here/../../deploy/haproxy/haproxy.cfg" 2>"$work/haproxy.log" &
pids+=($!)
sleep 1
load --target="127.0.0.1:$front" --rate="$rate" --seconds="$seconds" --retry >"$work/kill" 2>"$work/kill.err" &
caller=$!
kills=0
while kill -0 "$caller" 2>/dev/null; do
  for name in a b c; do
    kill -0 "$caller" 2>/dev/null || break
    victim="pid_$name"
    kill -KILL "${!victim}" && wait "${!victim}" 2>/dev/null || true
    kills=$((kills + 1))
    serve "$name" "${flags[@]}"
    sleep 2
  done
done
echo "replica_kill: kills=$kills $(cat "$work/kill") $(cat "$work/kill.err")"
load --target="127.0.0.1:$front" --rate="$rate" --seconds=20 --retry >"$work/roll" 2>"$work/roll.err" &
caller=$!
for name in a b c; do
  victim="pid_$name"
  kill -TERM "${!victim}" && wait "${!victim}" || true
  serve "$name" "${flags[@]}"
  sleep 1
done
wait "$caller" || true
echo "rolling_restart: $(cat "$work/roll") $(cat "$work/roll.err")"
