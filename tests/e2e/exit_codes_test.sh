#!/usr/bin/env bash
# Exit codes of every command that asks, and the same bytes in process and by a server.
# usage: exit_codes_test.sh FLIGHTPLAN_BINARY
set -euo pipefail
flightplan="$1"
# shellcheck source=tests/support/server.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/server.sh"
# expect CODE ARGS...: runs, compares the exit code.
expect() {
  local want="$1" code=0
  shift
  "$flightplan" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  [ "$code" = "$want" ] || fail "flightplan $* ended with $code, not $want"
}

# --- What people have ---
cat >"$work/bad.sh" <<'END'
#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
EP=64
ARGS=(
  --num-layers 4
  --hidden-size 1024
  --num-attention-heads 16
  --seq-length 1024
  --max-position-embeddings 1024
  --micro-batch-size 1
  --global-batch-size 16
  --num-experts 64
  --expert-model-parallel-size $EP
  --recompute-granularity full
  --bf16	# a tab, which the diff keeps
  --train-iters 10 --lr 1e-4 --tokenizer-type NullTokenizer --mock-data
)
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py "${ARGS[@]}"
END
printf 'model:\n  num_layer: 4\n' >"$work/dump.yaml"
head -c 1100000 /dev/zero | tr '\0' 'a' >"$work/large.sh"
size=(--model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64)

# --- 0: fine ---
expect 0 resolve "${size[@]}"
small=(--model qwen3-30b-a3b --gpu h100-sxm --gpus 16)
expect 0 plan "${small[@]}" --top 2
grep -q 'candidates' "$work/out" || fail "the search says what it went through"
expect 0 resolve "${small[@]}"
grep -q 'layout.searched' "$work/out" || fail "an open layout is searched, and the finding says so"
expect 0 diff "${size[@]}" -- -- --ep 32
grep -q "B's step is" "$work/out" || fail "the two steps are compared"
"$flightplan" resolve "${size[@]}" --format json >"$work/answer.json"
expect 0 diff "$work/answer.json" -- "${size[@]}"
grep -q 'no knob differs' "$work/out" || fail "a saved answer differs from itself"
expect 0 explain recompute.full-needs-method
expect 0 explain moe_token_dispatcher_type
expect 0 rules --knob recompute_granularity
expect 0 knobs overlap
expect 0 models
expect 0 gpus
expect 0 version
expect 0 help
expect 0 lsp --stdio # as editors start it
expect 0 fingerprint --root "$work"
for command in resolve plan diff validate fix timeline explain rules knobs models gpus fingerprint; do expect 0 "$command" --help; done

# --- 1: findings of level error ---
expect 1 validate "$work/bad.sh"
grep -q 'recompute' "$work/out" || fail "the finding is shown"
expect 1 validate "$work/bad.sh" --all-versions
expect 1 validate "$work/dump.yaml" --target megatron-bridge
grep -q 'line 2' "$work/out" || fail "the misspelt field's line is shown"
expect 1 resolve "${size[@]}" --set recompute_granularity=full --set recompute_method=none
expect 1 diff "$work/bad.sh" "$work/bad.sh"
expect 1 plan --model deepseek-v3 --gpu h100-sxm --gpus 1
grep -q 'plan.no' "$work/out" || fail "a search without a plan says why"

# --- 2: misuse ---
expect 2 resolve --gpus 8
expect 2 resolve "${size[@]}" --no-such-flag
expect 2 validate
expect 2 validate "$work/nowhere.sh"
expect 2 validate "$work/large.sh"
expect 2 validate "$work/bad.sh" --input-format bridge-yaml
grep -q 'input-format' "$work/err" || fail "the flag is named"
expect 2 validate --all-versions --target loongforge -- --num-layers 4
expect 2 fix
expect 2 plan --gpus 8
expect 2 plan "${small[@]}" --top 0
expect 2 plan "${small[@]}" --rank-by luck
expect 2 diff
expect 2 diff "$work/answer.json"
expect 2 diff "$work/answer.json" "$work/nowhere.sh"
expect 2 diff "$work/bad.sh" "$work/bad.sh" --set tp_comm_overlap=true
expect 2 fix --write -- --num-layers 4
expect 2 explain no.such-rule
expect 2 gpus no-such-gpu
expect 2 fingerprint --format xml
expect 2 no-such-command

expect 2 rules --knob moe_token_dispacher_type
expect 2 rules --area recomput
expect 2 gpus --server 127.0.0.1:99999
grep -q '65535, not 99999' "$work/err" || fail "a port above 65,535 is named: $(cat "$work/err")"
expect 2 evidence list --evidence-store "sqlite:$work/misspelt.db"
grep -q misspelt.db "$work/err" || fail "a store that is not there is named: $(cat "$work/err")"
[ ! -e "$work/misspelt.db" ] || fail "a command that reads makes no store"

# --- The size of the job is the launch's own ---
expect 1 validate "$work/bad.sh" --gpu h100-sxm

# --- 3: no server ---
for ask in "plan --model qwen3-30b-a3b --gpu h100-sxm --gpus 16" "diff $work/bad.sh $work/bad.sh" "gpus" "rules" "knobs" "models" "explain moe_token_dispatcher_type" "validate $work/bad.sh" "fix $work/bad.sh"; do
  # shellcheck disable=SC2086
  expect 3 $ask --server "unix:$work/nobody.sock"
done

# One that takes the connection and says nothing: ten seconds in all, of a search too.
python3 -c 'import socket, time
mute = socket.socket(socket.AF_UNIX); mute.bind("'"$work"'/mute.sock"); mute.listen(9); time.sleep(60)' &
mute=$!
for _ in $(seq 50); do [ ! -S "$work/mute.sock" ] || break; sleep 0.1; done
expect 3 plan "${small[@]}" --server "unix:$work/mute.sock"
grep -q 'no answer from .* within 10 s' "$work/err" || fail "how long it waited is said: $(cat "$work/err")"
kill "$mute"

# --- fix: what it prints applies, what it writes is judged fine, the file keeps its mode ---
chmod 750 "$work/bad.sh"
cp -p "$work/bad.sh" "$work/mended.sh"
expect 0 fix "$work/bad.sh"
cp "$work/out" "$work/diff"
grep -q '^-EP=64$' "$work/diff" || fail "the variable's line is changed"
(cd / && patch -s -p0 "$work/mended.sh" <"$work/diff") || fail "the diff does not apply"
expect 0 fix "$work/bad.sh" --write
cmp "$work/bad.sh" "$work/mended.sh" || fail "--write and the diff differ"
[ "$(stat -c %a "$work/bad.sh")" = 750 ] || fail "the mode is kept"
expect 0 validate "$work/bad.sh"
expect 0 fix "$work/bad.sh"
[ ! -s "$work/out" ] || fail "nothing to repair, nothing printed"

# --- The same bytes by a server ---
start_server s --listen="unix:$work/fp.sock" --http_listen= --drain_delay=0s
sed -i 's/^EP=.*/EP=64/' "$work/bad.sh"
same() {
  local local_code=0 remote_code=0
  "$flightplan" "$@" >"$work/local" 2>/dev/null || local_code=$?
  "$flightplan" "$1" --server "unix:$work/fp.sock" "${@:2}" >"$work/remote" 2>/dev/null || remote_code=$?
  [ "$local_code" = "$remote_code" ] || fail "flightplan $* ends with $local_code in process and $remote_code by the server"
  cmp "$work/local" "$work/remote" || fail "flightplan $* differs by the server"
}
for format in table json; do
  same resolve "${size[@]}" --format "$format"
  same resolve "${small[@]}" --format "$format"
  same plan "${small[@]}" --format "$format"
  same plan "${small[@]}" --rank-by memory --top 3 --format "$format"
  same diff "${size[@]}" --format "$format" -- -- --ep 32
  same diff "$work/bad.sh" "$work/dump.yaml" --format "$format"
  same validate "$work/bad.sh" --format "$format"
  same validate "$work/dump.yaml" --target megatron-bridge --format "$format"
  same validate "$work/bad.sh" --all-versions --format "$format"
  same explain recompute.full-needs-method --format "$format"
  for list in rules knobs models gpus; do same "$list" --format "$format"; done
done
same fix "$work/bad.sh"
same fix "$work/bad.sh" --format json
same fingerprint --root "$work" --format json
stop_server "$server"
echo "exit codes e2e: fine"
