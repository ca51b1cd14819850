#!/usr/bin/env bash
# Random requests of every rpc, with numbers at their extremes, fields that come and go and damaged bytes, at a server: it
# stays, no call gets INTERNAL, UNKNOWN or UNAVAILABLE or a figure that is no number, and callers write nothing into the
# server's log. usage: random_calls.sh [COUNT [SEED]]
source "$(dirname "$0")/lib.sh"
count="${1:-1000000}"
seed="${2:-1}"
most_mib=1024 # of the server
most_lines=$((count / 1000 + 20))
probe=()
if [ -x "$bin/flightplan-probe" ]; then
  probe=(--probe --probe_worker="$bin/flightplan-probe" --probe_fake="$here/../../probe/testdata/synthetic.json")
fi
serve a --log_level=error --drain_delay=0s --evidence_store="sqlite:$work/evidence.db" --profile_dir="$work/profiles" "${probe[@]}"
code=0
"$bin/random_calls" --target="127.0.0.1:$port_a" --count="$count" --seed="$seed" >"$work/figures" || code=$?
sed -n 's/^random_calls:/&/p; /^FAILED/p; /^under way/p' "$work/figures"
kill -0 "$pid_a" 2>/dev/null || fail "the server has ended"
[ "$code" = 0 ] || fail "calls failed: $(cat "$work/figures")"
# Of many refusals this would be a drill of nothing.
[ $(($(field OK <"$work/figures" | tail -n 1) * 10)) -ge "$count" ] || fail "fewer than one call in ten was answered"
mib="$(awk '/VmHWM/ {printf "%d", $2 / 1024}' "/proc/$pid_a/status")"
lines="$(wc -l <"$work/a.log")"
echo "random_calls: server_peak_mib=$mib log_lines=$lines"
[ "$mib" -le "$most_mib" ] || fail "memory of the server"
[ "$lines" -le "$most_lines" ] || fail "callers fill the log: $(sort "$work/a.log" | uniq -c | sort -rn | head -5)"
kill -TERM "$pid_a" && wait "$pid_a" || fail "SIGTERM does not end the server with 0"
