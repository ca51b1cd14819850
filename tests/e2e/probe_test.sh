#!/usr/bin/env bash
# The probe end to end with a fake device: the worker, the command line, the server, and resolve citing a profile.
# usage: probe_test.sh FLIGHTPLAN_BINARY PROBE_WORKER FAKE_DEVICE.json
set -euo pipefail
flightplan="$1"; worker="$2"; fake="$3"
# shellcheck source=tests/support/server.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/server.sh"
expect() {  # exit code, then the command
  local wanted="$1" code=0; shift
  "$@" >"$work/out" 2>"$work/err" || code=$?
  [ "$code" = "$wanted" ] || fail "$* ended with $code, not $wanted"
}
start() {
  start_server s --listen=127.0.0.1:0 --http_listen=127.0.0.1:0 --drain_delay=0s --profile_dir="$work/served" "$@"
  address="$(served s listen)"; http_port="$(served s http_port)"
}
export FLIGHTPLAN_PROFILE_DIR="$work/profiles"
resolve=("$flightplan" resolve --model qwen3-30b-a3b --gpu h200-sxm --gpus 16 --tp 1 --pp 1 --ep 16 --gbs 1024)

# --- In process ---
expect 0 "$flightplan" probe --worker "$worker" --fake "$fake" --out "$work/p.json" --report "$work/p.html"
grep -q 'synthetic: replayed, never evidence' "$work/out" || fail "the page does not say synthetic"
grep -q '</svg>' "$work/p.html" || fail "no curves in the report"
expect 2 "$flightplan" probe --import "$work/p.json"   # synthetic: no evidence
expect 0 "${resolve[@]}" --format json
cp "$work/out" "$work/plain.json"

# --- A profile as a real probe would have written it: the fake one under another flag, for this test alone ---
sed -e 's/"kind": *"synthetic"/"kind": "measured"/' -e 's/"device_name": *"[^"]*"/"device_name": "NVIDIA H200"/' \
  -e 's/"driver_version": *"[^"]*"/"driver_version": "580.65.06"/' "$work/p.json" >"$work/h200.json"
expect 0 "${resolve[@]}" --profile "$work/h200.json" --format json
grep -q 'on this Synthetic GPU\|on this H200' "$work/out" || fail "the decision does not name the GPU"
grep -q 'probe profile .*corun.matrix' "$work/out" || fail "the decision does not cite the row"
expect 0 "$flightplan" probe --import "$work/h200.json"
[ "$(ls "$work/profiles"/*.json | wc -l)" = 1 ] || fail "one file per profile"
expect 0 "$flightplan" probe --list
grep -q 'NVIDIA H200' "$work/out" || fail "--list"
expect 0 "${resolve[@]}" --format json
grep -q 'probe profile' "$work/out" || fail "a stored profile is cited without a flag"
rm -r "$work/profiles"
expect 0 "${resolve[@]}" --format json
cmp -s "$work/out" "$work/plain.json" || fail "without a profile the answer is as before"

# --- A server that may not probe ---
start
expect 1 "$flightplan" probe --server "$address"
grep -q -- '--probe' "$work/err" || fail "it does not say how to allow it"
expect 0 "${resolve[@]}" --server "$address" --format json
expect 0 "$flightplan" probe --server "$address" --import "$work/h200.json"
expect 0 "${resolve[@]}" --server "$address" --format json   # not the answer that was cached before
grep -q 'probe profile' "$work/out" || fail "the server does not cite an imported profile"
stop_server "$server"

# --- One that may, with a fake device; what was imported is still there ---
start --probe --probe_worker="$worker" --probe_fake="$fake"
expect 0 "$flightplan" probe --server "$address" --groups ceilings
grep -q 'hbm.copy' "$work/out" || fail "no rows from the server"
expect 2 "$flightplan" probe --server "$address" --model deepseek-v3 --ep 7
grep -q -- '--ep: 7 must divide the number of experts, 256' "$work/err" || fail "the server takes no layout: $(cat "$work/err")"
expect 0 "$flightplan" probe --server "$address" --list
grep -q 'NVIDIA H200' "$work/out" || fail "profiles do not outlive a restart"
curl -s "http://127.0.0.1:$http_port/metrics" >"$work/metrics"
grep -q '^flightplan_probe_runs_total{result="ok"} 1$' "$work/metrics" || fail "the metric does not count"
stop_server "$server"
echo "probe: worker, command line, server and resolve agree"
