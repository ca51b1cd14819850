#!/usr/bin/env bash
# Open loop at 3 and 10 times capacity, against a server as it is and behind deploy/haproxy: goodput stays, accepted calls
# stay quick, memory stays bounded. The ratios need a machine with nothing else to do, so they are printed and judged by
# who runs it; what is judged here: no call fails or stays without an answer, a refusal says when to come back, look-ups
# are answered in the flood, and memory stays below a bound. usage: overload.sh [SECONDS]
#
# Latency is the caller's, from the moment a call was due: in it are how late the caller was (lag_p99_ms) and all that
# waits before the server's code sees a call. What calls waited in the server's own queue stands beside it
# (server_queue_p99_ms, the upper bound of a bucket of the server's histogram).
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/balancer.sh"
[ -x "$bin/flood_client" ] || skip "flood_client is not built (it needs libnghttp2-dev; deploy/setup.sh installs it)"
seconds="${1:-8}"
most_mib=256
# The server has one core; the balancer and the caller have another, where there are two. What is started inherits it.
read -r -a cores < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
move_to() { taskset -cp "$1" $$ >/dev/null; }
move_to "${cores[0]}"
serve a --cache_bytes=0 --log_level=error
move_to "${cores[1]:-${cores[0]}}"
# A replica of one core.
FLIGHTPLAN_IN_FLIGHT="${FLIGHTPLAN_IN_FLIGHT:-4}" FLIGHTPLAN_BURST="${FLIGHTPLAN_BURST:-75}" \
  FLIGHTPLAN_QUEUE="${FLIGHTPLAN_QUEUE:-4}" FLIGHTPLAN_CALLER="${FLIGHTPLAN_CALLER:-6}" balance a

call() { "$bin/flood_client" --target="$target" "$@" 2>>"$work/errors" || true; }
: >"$work/queue.last"
# queue_of NAME: what the server counted of its queue since the last time, in the file NAME
queue_of() {
  curl -s "http://127.0.0.1:$http_a/metrics" | sed -n 's/^flightplan_stage_seconds_bucket{stage="queue",le="\(.*\)"} /\1 /p' >"$work/queue.now"
  paste "$work/queue.now" "$work/queue.last" | awk '{print $1, $2 - $4}' >"$work/queue.$1"
  mv "$work/queue.now" "$work/queue.last"
}
# server_refused: the calls that the server itself has refused.
server_refused() { curl -s "http://127.0.0.1:$http_a/metrics" | awk '/^flightplan_shed_total/ {sum += $2} END {print sum + 0}'; }
# step NAME RATE: calls at that rate, into the file NAME, with what they cost.
step() {
  local server="$(cpu_ms "$pid_a")" balancer="$(cpu_ms "$pid_front")" refused="$(server_refused)"
  echo "$(call --rate="$2" --seconds="$seconds") server_ms=$(($(cpu_ms "$pid_a") - server))" \
    "balancer_ms=$(($(cpu_ms "$pid_front") - balancer)) server_refused=$(($(server_refused) - refused))" \
    "server_mib=$(rss_mib "$pid_a") balancer_mib=$(rss_mib "$pid_front")" >"$work/$1"
  queue_of "$1"
  echo "$where $1: $(cat "$work/$1")"
}
# measure WHERE TARGET
measure() {
  local rate=200 figures goodput
  where="$1" target="$2" peak=0
  call --rate=100 --seconds=1 >/dev/null  # what is built on first use
  # Peak: the most that is answered at any rate, by steps of a half, until a fifth of the calls is not.
  while :; do
    figures="$(call --rate="$rate" --seconds="$(python3 -c "print(min(3, $seconds))")")"
    goodput="$(echo "$figures" | field goodput)"
    [ "$goodput" -le "$peak" ] || peak="$goodput"
    [ "$goodput" -ge $((rate * 4 / 5)) ] || break
    rate=$((rate * 3 / 2))
  done
  [ "$peak" -gt 0 ] || fail "$where: nothing was answered: $figures"
  : "${bare_peak:=$peak}"
  queue_of peak
  step unloaded 100
  step 3x $((peak * 3))
  step 10x $((peak * 10))
  python3 - <<END
import re
def figures(name):
    return {key: float(value) for key, value in re.findall(r"(\w+)=([0-9.]+)", open("$work/" + name).read())}
def queue_p99_ms(name):
    """The bound of the bucket in which the 99th of 100 calls is, in ms."""
    rows = [line.split() for line in open("$work/queue." + name)]
    total = float(rows[-1][1])
    return next(float(bound) * 1e3 for bound, count in rows if float(count) >= 0.99 * total)
u, three, ten = figures("unloaded"), figures("3x"), figures("10x")
print(f"overload $where: peak=$peak/s goodput_3x={three['goodput'] / $peak:.2f} goodput_10x={ten['goodput'] / $peak:.2f} "
      f"of_the_bare_peak={three['goodput'] / $bare_peak:.2f}/{ten['goodput'] / $bare_peak:.2f} "
      f"p99_unloaded_ms={u['p99_ms']} p99_3x={three['p99_ms'] / u['p99_ms']:.1f}x p99_10x={ten['p99_ms'] / u['p99_ms']:.1f}x "
      f"lag_p99_ms={u['lag_p99_ms']}/{three['lag_p99_ms']}/{ten['lag_p99_ms']} "
      f"server_queue_p99_ms={queue_p99_ms('unloaded'):g}/{queue_p99_ms('3x'):g}/{queue_p99_ms('10x'):g} "
      f"server_mib={ten['server_mib']:.0f} balancer_mib={ten['balancer_mib']:.0f}")
END
  local name
  for name in unloaded 3x 10x; do
    [ "$(field failed <"$work/$name")" = 0 ] && [ "$(field unanswered <"$work/$name")" = 0 ] || fail "calls failed $where: $(cat "$work/errors")"
    [ "$(field server_mib <"$work/$name")" -le "$most_mib" ] || fail "memory of the server $where"
    [ "$(field balancer_mib <"$work/$name")" -le "$most_mib" ] || fail "memory of the balancer"
  done
}
measure bare "127.0.0.1:$port_a"
measure balanced "$front"
# Beside the flood, who only looks something up gets it, whatever is refused; and a caller who asks for a twentieth of the
# peak is not refused with the one who floods.
call --rate=$((peak * 10)) --seconds=$((${seconds%.*} + 2)) >"$work/flood" &
flood=$!
for _ in 1 2 3; do "$flightplan" gpus --server="$front" >/dev/null || fail "a look-up in the flood"; done
other="$(call --rate=$((peak / 20 + 1)) --seconds="$seconds" --token=another)"
wait "$flood"
echo "overload balanced: another caller at a twentieth of the peak: $(echo "$other" | grep -o 'total=.* refused=[0-9]*')," \
  "p99_ms=$(echo "$other" | field p99_ms) beside $(grep -o 'offered=[^ ]*' "$work/flood")"
[ "$(echo "$other" | field failed)" = 0 ] || fail "the other caller's calls failed: $(cat "$work/errors")"
