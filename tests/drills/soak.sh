#!/usr/bin/env bash
# Full load for a while, cached and cold by turns: memory and descriptors stay flat, no call fails.
# usage: soak.sh [MINUTES [CALLS_PER_SECOND [SECONDS_PER_MINUTE]]]: the last one shortens the minutes
source "$(dirname "$0")/lib.sh"
minutes="${1:-10}"
rate="${2:-800}"
length="${3:-55}"
serve a --log_level=error
memory=() open=()
for minute in $(seq "$minutes"); do
  line="$(load --target="127.0.0.1:$port_a" --rate="$rate" --seconds="$length" $([ $((minute % 2)) = 0 ] || echo --cold) || true)"
  memory+=("$(rss_mib "$pid_a")") open+=("$(descriptors "$pid_a")")
  echo "minute=$minute rss_mib=${memory[-1]} descriptors=${open[-1]} $line"
  [ "$(echo "$line" | field failed)" = 0 ] && [ "$(echo "$line" | field unanswered)" = 0 ] || fail "calls failed"
done
# The cache fills at first (cache_bytes, 64 MiB); from the second half on nothing grows.
half=$((minutes / 2))
grown=$((memory[-1] - memory[half]))
echo "soak: minutes=$minutes rss_mib=${memory[0]}..${memory[-1]} grown_in_second_half_mib=$grown descriptors=${open[0]}..${open[-1]}"
[ "$grown" -le 16 ] || fail "memory grows"
[ "${open[-1]}" -le $((open[0] + 4)) ] || fail "descriptors grow"
