#!/usr/bin/env bash
# Full load for a while: memory, descriptors and latency stay flat. usage: soak.sh [MINUTES [CALLS_PER_SECOND]]
source "$(dirname "$0")/lib.sh"
minutes="${1:-10}"
rate="${2:-800}"
serve a --log_level=error
for minute in $(seq "$minutes"); do
  line="$(load --target="127.0.0.1:$port_a" --rate="$rate" --seconds=55 $([ $((minute % 2)) = 0 ] || echo --cold) || true)"
  echo "minute=$minute rss_mib=$(rss_mib "$pid_a") descriptors=$(descriptors "$pid_a") $line"
done
