#!/usr/bin/env bash
# PostgreSQL is stopped for a while under load: resolve and validate go on, reports are refused with UNAVAILABLE and
# RetryInfo, and all is well again without a restart.
# usage: store_outage.sh FLIGHTPLAN EVIDENCE_LOAD OUTAGE_SECONDS
set -euo pipefail
flightplan="$1" load="$2" outage="$3"
# shellcheck source=tests/drills/evidence_lib.sh
source "$(dirname "$0")/evidence_lib.sh"
start_postgres
start_replica s "$url"

before=3 after=10
"$load" outage "unix:$work/s.sock" "$((before + outage + after))" >"$work/figures" 2>"$work/load.log" &
loader=$!
sleep "$before"
"$postgres" stop "$work/pg"
sleep 1
"$flightplan" resolve --model qwen3-30b-a3b --gpu h100-sxm --gpus 16 --ep 16 --target megatron-bridge --server "unix:$work/s.sock" \
  --format json >"$work/during.json" || [ $? = 1 ] || fail "resolve while the store is down"
grep -q '"evidence.store-down"' "$work/during.json" || fail "the answer does not say that the store is down"
sleep "$((outage - 1))"
"$postgres" start "$work/pg" >/dev/null
code=0; wait "$loader" || code=$?
echo "PostgreSQL stopped for $outage s under load: $(cat "$work/figures")"
[ "$code" = 0 ] || fail "$(cat "$work/load.log")"
"$flightplan" resolve --model qwen3-30b-a3b --gpu h100-sxm --gpus 16 --ep 16 --target megatron-bridge --server "unix:$work/s.sock" \
  --format json >"$work/after.json" || [ $? = 1 ] || fail "resolve after the outage"
! grep -q '"evidence.store-down"' "$work/after.json" || fail "the answer still says that the store is down"
