#!/usr/bin/env bash
# The decision log on a full disk, moved away, and without a reader of standard error: the server goes on, what is missing
# is counted and said in few lines, and nothing is lost once there is room again.
# usage: decision_log.sh FLIGHTPLAN
set -euo pipefail
flightplan="$1"
# shellcheck source=tests/support/server.sh
source "$(dirname "$0")/../support/server.sh"

ask() {  # GBS
  "$flightplan" resolve --model qwen3-30b-a3b --gpu h100-sxm --gpus 16 --ep 16 --gbs "$1" --target megatron-bridge \
    --server "unix:$work/s.sock" --format json >"$work/answer" || [ $? = 1 ] || fail "resolve"
}
metric() { curl -sf "http://127.0.0.1:$http/metrics" | sed -n "s/^$1 //p"; }
lines() { wc -l <"$1"; }
has() { [ -s "$1" ] && [ "$(lines "$1")" -ge "$2" ]; }

ln -s /dev/full "$work/decisions"
start_server s --listen="unix:$work/s.sock" --http_listen=127.0.0.1:0 --drain_delay=0s --decision_log="file:$work/decisions"
http="$(served s http_port)"
for i in 1 2 3 4 5; do ask $((512 * i)); done
lost() { [ "$(metric 'flightplan_decision_log_dropped_total{reason="write"}')" = "$1" ]; }
wait_for "5 lost decisions are not counted" lost 5
curl -sf -o "$work/ready" "http://127.0.0.1:$http/readyz" || fail "a full disk makes it unready"
said="$(grep -c 'decisions are not logged' "$work/s.log")"
grep -q 'No space left on device' "$work/s.log" || fail "the log does not say why"

# There is room again under the same name: seen by itself, within a second.
rm "$work/decisions"
sleep 1.1
ask 512
wait_for "the new file is not written" has "$work/decisions" 1
grep -q 'decision log is written again' "$work/s.log" || fail "the log does not say that it is well again"

# logrotate: moved away, then SIGHUP.
mv "$work/decisions" "$work/decisions.1"
kill -HUP "$server"
wait_for "SIGHUP does not make a new file" [ -f "$work/decisions" ]
for i in 1 2 3; do ask $((512 * i)); done
wait_for "the rotated file is not written" has "$work/decisions" 3
[ "$(lines "$work/decisions.1")" = 1 ] || fail "the old file is still written"
"$flightplan" replay "$work/decisions" >"$work/replayed" || fail "replay: $(cat "$work/replayed")"
stop_server "$server"

# Standard error goes to a reader that has left: each write of the log fails.
rm -f "$work/s.sock"
mkfifo "$work/pipe"
head -n 1 "$work/pipe" >"$work/first" &
"$flightplan" serve --listen="unix:$work/s.sock" --http_listen= --evidence_store=off --drain_delay=0s 2>"$work/pipe" &
server=$!
wait_for "it does not start" [ -s "$work/first" ]
wait_for "it does not listen" [ -S "$work/s.sock" ]
for _ in 1 2 3; do kill -HUP "$server"; sleep 0.1; done
kill -0 "$server" 2>/dev/null || fail "a closed standard error ends the server"
ask 512
stop_server "$server"
echo "decision log: 5 of 5 lines on a full disk counted and said in $said lines, served on; written again after the name" \
  "changed and after SIGHUP ($(cat "$work/replayed")); a closed standard error ends nothing"
