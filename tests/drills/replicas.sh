#!/usr/bin/env bash
# Three replicas behind HAProxy under load from a client that retries: one is killed every two seconds, then all are
# restarted in turn, by SIGTERM. No call fails. usage: replicas.sh [SECONDS [CALLS_PER_SECOND
# [OF_THE_RESTART]]]
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/balancer.sh"
seconds="${1:-60}"
rate="${2:-500}"
restart_rate="${3:-2000}"
flags=(--log_level=error --drain_delay=2s)
for name in a b c; do serve "$name" "${flags[@]}"; done
balance a b c

# up NAME: waits until the balancer sends calls to it. One that is back before the balancer looks, every 0.5 s, was never
# down for it.
up() {
  sleep 0.6
  for _ in $(seq 400); do
    grep "Server flightplan/$1 is" "$work/haproxy.log" | tail -n 1 | grep ' is DOWN' >/dev/null || return 0
    sleep 0.05
  done
  fail "HAProxy does not see $1: $(tail -3 "$work/haproxy.log")"
}
# run NAME SECONDS RATE: the load, in the background; `over` says when it has ended.
run() { load --target="$front" --rate="$3" --seconds="$2" --retry >"$work/$1" 2>"$work/$1.err" & caller=$!; }
over() { ! kill -0 "$caller" 2>/dev/null; }
# judge WHAT NAME: prints the figures; a call that failed fails the drill.
judge() {
  wait "$caller" || true
  echo "$1 $(cat "$work/$2")"
  [ "$(field failed <"$work/$2")" = 0 ] && [ "$(field unanswered <"$work/$2")" = 0 ] && [ "$(field not_sent <"$work/$2")" = 0 ] ||
    fail "calls failed: $(cat "$work/$2.err"); $(tail -5 "$work/haproxy.log")"
}

run kill "$seconds" "$rate"
kills=0
until over; do
  for name in a b c; do
    sleep 2
    ! over || break
    victim="pid_$name"
    kill -KILL "${!victim}" && wait "${!victim}" 2>/dev/null || true
    kills=$((kills + 1))
    serve "$name" "${flags[@]}"
    up "$name"
  done
done
judge "replica_kill: kills=$kills" kill

run roll "$((seconds < 20 ? seconds : 20))" "$restart_rate"
restarts=0
for name in a b c; do
  victim="pid_$name"
  kill -TERM "${!victim}" && wait "${!victim}" || fail "SIGTERM does not end $name with 0"
  serve "$name" "${flags[@]}"
  up "$name"
  over || restarts=$((restarts + 1))
done
judge "rolling_restart: restarts_under_load=$restarts" roll
[ "$restarts" -ge 1 ] || fail "no restart was under load: give it more seconds"
