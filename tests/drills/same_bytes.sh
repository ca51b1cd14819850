#!/usr/bin/env bash
# The same request gets the same bytes: by several callers at once, by two replicas that share a store, after a restart,
# and by `flightplan replay` of the decision logs; a replica sees what another was told in at most 2 s.
# usage: same_bytes.sh FLIGHTPLAN EVIDENCE_LOAD [ROUNDS]
set -euo pipefail
flightplan="$1" load="$2" rounds="${3:-2}"
# shellcheck source=tests/drills/evidence_lib.sh
source "$(dirname "$0")/evidence_lib.sh"
start_postgres

start() {
  start_replica a "$url" --decision_log="file:$work/a.decisions" --decision_log_text
  a=$server
  start_replica b "$url" --decision_log="file:$work/b.decisions" --decision_log_text
  b=$server
}
report() {  # ID VALUE: to replica a
  printf '%s\n' "{\"id\":\"$1\",\"metric\":\"step_time_us\",\"value\":$2,\"model\":\"qwen3-30b-a3b\",\"gpu\":\"h100-sxm\",\"gpu_count\":16,\"layout\":{\"expert_model_parallel_size\":16},\"workload\":{\"seq_length\":\"4096\",\"global_batch_size\":\"1024\"},\"target\":{\"framework\":\"megatron-bridge\"},\"quality\":\"matched\"}" |
    "$flightplan" evidence import - --server "unix:$work/a.sock" >/dev/null || fail "report $1"
}
revision() { "$flightplan" evidence list --server "unix:$work/$1.sock" | tail -n +2 | wc -l; }
ask() {  # REPLICA GBS FILE
  "$flightplan" resolve --model qwen3-30b-a3b --gpu h100-sxm --gpus 16 --tp 1 --pp 1 --ep 16 --seq 4096 --gbs "$2" \
    --target megatron-bridge --server "unix:$work/$1.sock" --format json >"$3" || [ $? = 1 ] || fail "resolve by replica $1"
}
judge() {  # REPLICA FILE: the launch has variables
  "$flightplan" validate "$work/launch.sh" --gpu h100-sxm --gpus 16 --server "unix:$work/$1.sock" --format json >"$2" ||
    [ $? = 1 ] || fail "validate by replica $1"
}
"$flightplan" resolve --model qwen3-30b-a3b --gpu h100-sxm --gpus 16 --tp 1 --pp 1 --ep 16 --seq 4096 --gbs 1024 \
  --format shell >"$work/launch.sh" || [ $? = 1 ] || fail "no launch"
sed -i '1a export NCCL_DEBUG=INFO CUDA_DEVICE_MAX_CONNECTIONS=1' "$work/launch.sh"

start
slowest=0 answers=0
for round in $(seq "$rounds"); do
  report "run-$round" "$((30000000 + 100000 * round))"
  told=$(date +%s%N)
  until [ "$(revision b)" = "$round" ]; do
    [ $((($(date +%s%N) - told) / 1000000)) -lt 20000 ] || fail "replica b does not see the report"
  done
  took=$((($(date +%s%N) - told) / 1000000))
  [ "$took" -le "$slowest" ] || slowest=$took
  for gbs in 512 1024 2048; do
    asking=()
    for caller in 1 2 3; do
      for replica in a b; do
        ask "$replica" "$gbs" "$work/answer.$round.$gbs.$replica.$caller" &
        asking+=($!)
      done
    done
    for pid in "${asking[@]}"; do wait "$pid" || fail "an answer is missing"; done
    answers=$((answers + 6))
    [ "$(sha256sum "$work/answer.$round.$gbs".* | cut -d' ' -f1 | sort -u | wc -l)" = 1 ] || fail "answers differ"
  done
  for replica in a b; do judge "$replica" "$work/verdict.$round.$replica"; done
  answers=$((answers + 2))
  cmp "$work/verdict.$round.a" "$work/verdict.$round.b" || fail "verdicts differ"
done
grep -q 'evidence.step-calibrated' "$work/answer.$rounds.1024.a.1" || fail "the reports are not used"

kill -TERM "$a" "$b"
wait "$a" "$b" 2>/dev/null || true
start
for gbs in 512 1024 2048; do
  for replica in a b; do
    ask "$replica" "$gbs" "$work/answer.$rounds.$gbs.$replica.again"
    answers=$((answers + 1))
    cmp "$work/answer.$rounds.$gbs.a.1" "$work/answer.$rounds.$gbs.$replica.again" || fail "another answer after a restart"
  done
done
kill -TERM "$a" "$b"
wait "$a" "$b" 2>/dev/null || true
cat "$work/a.decisions" "$work/b.decisions" >"$work/decisions"
replayed="$("$flightplan" replay "$work/decisions" --evidence-store "$url")" || fail "replay: $replayed"
[ "$(wc -l <"$work/decisions")" = "$answers" ] || fail "$answers answers, $(wc -l <"$work/decisions") lines of the logs"
echo "same request, same bytes: $answers answers of 2 replicas, 3 callers at once, $rounds evidence revisions and a restart; replay: $replayed; a report seen by the other replica after at most $slowest ms (command line included)"
