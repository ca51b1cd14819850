#!/usr/bin/env bash
# Asks the port for browsers by buf curl, with the contract's protos and nothing of ours beside them.
# usage: buf_curl.sh FLIGHTPLAN_BINARY
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
flightplan="$1"
# shellcheck source=tests/support/server.sh
source "$root/tests/support/server.sh"
buf="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/buf-1.75.0/node_modules/.bin/buf"
[ -x "$buf" ] || skip "no buf: deploy/setup.sh"
"$flightplan" serve --help | grep -q -- --web_listen || skip "this flightplan has no --web_listen"

start_server s --listen=127.0.0.1:0 --http_listen= --web_listen=127.0.0.1:0 --drain_delay=0s --evidence_store=off
contract="$work/proto"
mkdir -p "$contract"
cp -r "$root/proto/." "$contract"

# ask RPC MESSAGE: the answer in $work/out, as JSON; its exit code is buf's.
ask() {
  (cd "$contract" && BUF_CACHE_DIR="$work/cache" "$buf" curl --schema . --emit-defaults -d "$2" \
    "http://127.0.0.1:$(served s web_port)/flightplan.v1.$1") >"$work/out" 2>"$work/err"
}
# expect WHAT TEXT: the answer has it.
expect() { grep -q -- "$2" "$work/out" "$work/err" || fail "$1: no $2"; }

ask CatalogService/GetGpu '{"name": "h100-sxm"}' || fail "a unary call"
expect "a unary call" '"deviceName": "NVIDIA H100 80GB HBM3"'

question='{"model": {"name": "qwen3-30b-a3b"}, "hardware": {"gpu": "h100-sxm", "gpuCount": 16}, "layout": {"tensorModelParallelSize": 1, "pipelineModelParallelSize": 1, "expertModelParallelSize": 8}, "workload": {"seqLength": 4096, "globalBatchSize": 128}, "target": {"framework": "megatron-lm"}}'
ask ResolverService/ResolveConfig "$question" || fail "a question"
expect "a question" '"digest": "'

ask ResolverService/PlanLayouts "{\"base\": $question, \"planCount\": 2}" || fail "a stream of the server"
expect "a stream of the server" '"spaceCount"'

ask TimelineService/DescribeTimeline "{\"resolve\": $question}" || fail "a timeline"
expect "a timeline" '"stepTimeUs"'

! ask CatalogService/GetModel '{"name": "no-such-model"}' || fail "an unknown model is an answer"
expect "an error" '"code": "not_found"'

! ask EvidenceService/GetMeasurement '{}' || fail "evidence that is switched off is an answer"
expect "a service that is off" '"code"'

stop_server "$server"
echo "buf $("$buf" --version) curl: unary, a stream and errors are as expected"
