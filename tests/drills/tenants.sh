#!/usr/bin/env bash
# Two tenants, one at ten times its quota: the other keeps its rate. usage: tenants.sh [SECONDS]
source "$(dirname "$0")/lib.sh"
seconds="${1:-10}"
digest() { printf %s "$1" | sha256sum | cut -d' ' -f1; }
{
  echo "tokens:"
  for name in loud quiet; do
    echo "  - {sha256: $(digest $name), tenant: $name, roles: [resolve], expires: 2126-01-01T00:00:00Z}"
  done
} >"$work/tokens.yaml"
echo "default: {calls_per_second: 100, concurrent: 64}" >"$work/quotas.yaml"
serve a --log_level=error --token_file="$work/tokens.yaml" --quota_file="$work/quotas.yaml"
load --target="127.0.0.1:$port_a" --token=quiet --rate=80 --seconds="$seconds" >"$work/alone"
load --target="127.0.0.1:$port_a" --token=loud --rate=1000 --seconds="$seconds" >"$work/loud" 2>/dev/null &
loud=$!
load --target="127.0.0.1:$port_a" --token=quiet --rate=80 --seconds="$seconds" >"$work/quiet"
wait "$loud" || true
echo "tenants: quiet_alone_ok=$(field ok <"$work/alone") quiet_beside_loud_ok=$(field ok <"$work/quiet")" \
  "quiet_refused=$(field refused <"$work/quiet") quiet_failed=$(field failed <"$work/quiet")" \
  "loud_ok=$(field ok <"$work/loud") loud_refused=$(field refused <"$work/loud")"
python3 - "$(field ok <"$work/alone")" "$(field ok <"$work/quiet")" "$(field refused <"$work/loud")" <<'END' || fail "the quiet tenant lost calls, or the loud one none"
import sys
alone, beside, refused = map(int, sys.argv[1:])
sys.exit(not (beside >= 0.95 * alone > 0 and refused > 0))
END
