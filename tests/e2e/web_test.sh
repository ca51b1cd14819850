#!/usr/bin/env bash
# The real binary's port for browsers, by curl: the README's example, a stream, the decision log, SIGTERM.
# usage: web_test.sh FLIGHTPLAN_BINARY
set -euo pipefail
flightplan="$1"
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=tests/support/server.sh
source "$here/../support/server.sh"
service=flightplan.v1.ResolverService

# --- What is open to others without saying who they are does not start ---
code=0; "$flightplan" serve --web_listen=0.0.0.0:0 2>"$work/err" || code=$?
[ "$code" = 2 ] || fail "an open port without tokens ends with 2, not $code"
grep -q "web_listen '0.0.0.0:0'.*token_file" "$work/err" || fail "it says what is missing: $(cat "$work/err")"

start_server s --listen=127.0.0.1:0 --http_listen= --web_listen=127.0.0.1:0 --drain_delay=0s --decision_log="file:$work/decisions"
port="$(served s web_port)"
[ "$port" -gt 0 ] || fail "no web_port in the 'serving' line"

# --- The README's example, as it stands there but for the port ---
example="$(sed -n '/^    curl http/,/^$/p' "$here/../../README.md")"
[ -n "$example" ] || fail "the README has no example of curl"
bash -c "${example//127.0.0.1:8080/127.0.0.1:$port}" >"$work/answer" 2>"$work/err" || fail "the README's example: $(cat "$work/err")"
python3 - "$work/answer" <<'PY' || fail "the README's example: $(head -c 500 "$work/answer")"
import json, sys
answer = json.load(open(sys.argv[1]))
assert any(one["ruleId"] for one in answer["findings"]), answer
PY
grep -q "\"rpc\":\"/$service/ValidateConfig\"" "$work/decisions" || fail "no line in the decision log: $(cat "$work/decisions")"

# --- A stream: five bytes of head, progress or plans, and its end ---
python3 - "$port" "$service" <<'PY' || fail "a stream"
import json, struct, sys, urllib.request
base = {"model": {"name": "qwen3-30b-a3b"}, "hardware": {"gpu": "h100-sxm", "gpuCount": 16},
        "workload": {"seqLength": 4096, "globalBatchSize": 256}, "target": {"framework": "megatron-lm"}}
question = json.dumps({"base": base, "planCount": 2}).encode()
request = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}/{sys.argv[2]}/PlanLayouts", struct.pack(">BI", 0, len(question)) + question,
                                 {"Content-Type": "application/connect+json"})
body, seen = urllib.request.urlopen(request, timeout=60).read(), []
while body:
    flags, size = struct.unpack(">BI", body[:5])
    seen.append((flags, json.loads(body[5:5 + size])))
    body = body[5 + size:]
assert seen[-1] == (2, seen[-1][1]) and "error" not in seen[-1][1], seen[-1]
assert len(seen[-2][1]["result"]["plans"]) == 2, seen[-2]
PY

# --- Without a page it says so; other names are turned away ---
status() { curl -s -o "$work/body" -w '%{http_code}' "$@"; }
[[ "$(status "http://127.0.0.1:$port/")" =~ ^(200|404)$ ]] || fail "the page, or a line"
[ "$(status -H 'Host: evil.example.com' "http://127.0.0.1:$port/")" = 403 ] || fail "another name"
[ "$(status -H 'Origin: https://evil.example.com' "http://127.0.0.1:$port/$service/ValidateConfig" -H 'Content-Type: application/json' -d '{}')" = 403 ] ||
  fail "another origin"

stop_server "$server"
echo "web: fine"
