#!/usr/bin/env bash
# What a call costs the server, in CPU time of its process (which other work on the machine hardly changes) and in
# latency (which it does), and what a replica holds in memory. One line a kind of call. usage: capacity.sh [SECONDS]
source "$(dirname "$0")/lib.sh"
seconds="${1:-10}"
# measure WHAT PID KEY LOAD_FLAGS...: KEY is the figure of the calls that are counted, ok or refused
measure() {
  local what="$1" pid="$2" key="$3" before line after
  shift 3
  load "$@" --seconds=1 >/dev/null 2>&1 || true  # connections, first answers
  before="$(cpu_ms "$pid")"
  line="$(load "$@" --seconds="$seconds" 2>/dev/null || true)"
  after="$(cpu_ms "$pid")"
  python3 - "$what" "$(echo "$line" | field "$key")" "$before" "$after" "$(echo "$line" | field p50_ms)" "$(echo "$line" | field p99_ms)" \
    "$(rss_mib "$pid")" <<'END'
import sys
what, count, before, after, p50, p99, rss = sys.argv[1], *map(float, sys.argv[2:])
if count == 0:
    sys.exit(f"FAILED: no call was counted: {what}")
us = (after - before) * 1000 / count
print(f"{what}: calls={count:.0f} cpu_us_per_call={us:.0f} calls_per_core_second={1e6 / us:.0f} p50_ms={p50} p99_ms={p99} rss_mib={rss:.0f}")
END
}
serve a --log_level=error
echo "idle: rss_mib=$(rss_mib "$pid_a") descriptors=$(descriptors "$pid_a")"
measure "resolve, cached" "$pid_a" ok --target="127.0.0.1:$port_a" --rate=1000
measure "resolve, worked out" "$pid_a" ok --target="127.0.0.1:$port_a" --rate=150 --cold
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/key.pem" -out "$work/cert.pem" -days 1 \
  -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
serve b --log_level=error --tls_cert_file="$work/cert.pem" --tls_key_file="$work/key.pem"
measure "resolve, cached, TLS" "$pid_b" ok --target="127.0.0.1:$port_b" --ca="$work/cert.pem" --rate=1000
echo "tokens: [{sha256: $(printf drill | sha256sum | cut -d' ' -f1), tenant: drill, roles: [resolve], expires: 2126-01-01T00:00:00Z}]" >"$work/tokens.yaml"
echo "default: {calls_per_second: 1}" >"$work/quotas.yaml"
serve c --log_level=error --token_file="$work/tokens.yaml" --quota_file="$work/quotas.yaml"
measure "refused over quota" "$pid_c" refused --target="127.0.0.1:$port_c" --token=drill --rate=1000
