#!/usr/bin/env bash
# Open loop at 3 and 10 times capacity: goodput stays, accepted calls stay quick, memory stays bounded. The ratios need a
# machine with nothing else to do, so they are printed and judged by who runs it; what is judged here: no call fails or
# stays without an answer, and memory stays below a bound. usage: overload.sh [SECONDS]
#
# Latency is the caller's, from the moment a call was due: in it are how late the caller was (lag_p99_ms) and all that
# waits before the server's code sees a call. What calls waited in the server's own queue stands beside it
# (server_queue_p99_ms, the upper bound of a bucket of the server's histogram).
source "$(dirname "$0")/lib.sh"
seconds="${1:-8}"
most_mib=256
# The server has one core, the caller another, where there are two.
pin() { if [ "$(nproc)" -ge 2 ]; then taskset -c "$1" "${@:2}"; else "${@:2}"; fi; }
serve a --cache_bytes=0 --log_level=error
[ "$(nproc)" -lt 2 ] || taskset -a -cp 0 "$pid_a" >/dev/null
call() { pin 1 "$bin/load_client" --target="127.0.0.1:$port_a" --cold --seconds="$seconds" "$@" 2>/dev/null || true; }
: >"$work/queue.last"
# queue_of NAME: what the server counted of its queue since the last time, in the file NAME
queue_of() {
  curl -s "http://127.0.0.1:$http_a/metrics" | sed -n 's/^flightplan_stage_seconds_bucket{stage="queue",le="\(.*\)"} /\1 /p' >"$work/queue.now"
  paste "$work/queue.now" "$work/queue.last" | awk '{print $1, $2 - $4}' >"$work/queue.$1"
  mv "$work/queue.now" "$work/queue.last"
}
cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{print ($14 + $15) * 1000 / hz}' "/proc/$pid_a/stat"; }
# Capacity: the most that is answered without a refusal or a failure, by steps of a half.
rate=100
capacity=100
call --rate=50 --seconds=1 >/dev/null  # what is built on first use
queue_of warm
unloaded="$(call --rate=50)"
queue_of unloaded
while :; do
  line="$(call --rate="$rate")"
  [ "$(echo "$line" | field refused)" = 0 ] && [ "$(echo "$line" | field failed)" = 0 ] || break
  capacity="$(echo "$line" | field goodput)"
  rate=$((rate * 3 / 2))
done
before="$(cpu_ms)"
line="$(call --rate="$rate")"
full="$(cpu_ms)"
queue_of full
peak="$(echo "$line" | field goodput)"
python3 -c "import sys; sys.exit(0 if $peak >= $capacity else 1)" || peak="$capacity"
three="$(call --rate=$((${peak%.*} * 3)))"
memory_three="$(rss_mib "$pid_a")"
at_three="$(cpu_ms)"
queue_of three
ten="$(call --rate=$((${peak%.*} * 10)))"
memory_ten="$(rss_mib "$pid_a")"
at_ten="$(cpu_ms)"
queue_of ten
echo "unloaded: $unloaded"
echo "1x:  $line cpu_ms=$(echo "$full - $before" | bc)"
echo "3x:  $three cpu_ms=$(echo "$at_three - $full" | bc)"
echo "10x: $ten cpu_ms=$(echo "$at_ten - $at_three" | bc)"
python3 - <<END
def queue_p99_ms(name):
    """The bound of the bucket in which the 99th of 100 calls is, in ms."""
    rows = [line.split() for line in open("$work/queue." + name)]
    total = float(rows[-1][1])
    return next(float(bound) * 1e3 for bound, count in rows if float(count) >= 0.99 * total)
peak, u = $peak, $(echo "$unloaded" | field p99_ms)
g3, g10 = $(echo "$three" | field goodput), $(echo "$ten" | field goodput)
p3, p10 = $(echo "$three" | field p99_ms), $(echo "$ten" | field p99_ms)
print(f"overload: peak={peak:.0f}/s goodput_3x={g3/peak:.2f} goodput_10x={g10/peak:.2f} p99_unloaded_ms={u} "
      f"p99_3x={p3/u:.1f}x p99_10x={p10/u:.1f}x "
      f"server_queue_p99_ms={queue_p99_ms('unloaded'):g}/{queue_p99_ms('three'):g}/{queue_p99_ms('ten'):g} rss_mib_3x=$memory_three rss_mib_10x=$memory_ten")
END
for figures in "$three" "$ten"; do
  [ "$(echo "$figures" | field failed)" = 0 ] && [ "$(echo "$figures" | field unanswered)" = 0 ] || fail "calls failed under overload"
done
[ "$memory_ten" -le "$most_mib" ] || fail "memory: $memory_ten MiB"
