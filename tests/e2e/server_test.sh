#!/usr/bin/env bash
# The real binary as a server, from start to SIGTERM. usage: server_test.sh FLIGHTPLAN_BINARY
set -euo pipefail
flightplan="$1"
# shellcheck source=tests/support/server.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/server.sh"
http() { curl -s -o "$work/body" -w '%{http_code}' "http://127.0.0.1:$http_port$1"; }

# --- What does not start says why, and with which exit code ---
code=0; "$flightplan" serve --no_such_flag 2>"$work/err" || code=$?
[ "$code" = 2 ] || fail "an unknown flag ends with 2, not $code"
printf 'listen: 127.0.0.1:0\ncache_bites: 1\n' >"$work/bad.yaml"
code=0; "$flightplan" serve --check_config --config "$work/bad.yaml" 2>"$work/err" || code=$?
[ "$code" = 2 ] || fail "a bad file ends with 2, not $code"
grep -q 'bad.yaml:2:1' "$work/err" || fail "a bad file is named with line and column: $(cat "$work/err")"
mkdir "$work/site"
printf 'models:\n  - {name: broken, num_layers: -3}\n' >"$work/site/models.yaml"
code=0; "$flightplan" serve --check_config --catalog_dir "$work/site" 2>"$work/err" || code=$?
[ "$code" = 2 ] || fail "a bad catalogue ends with 2, not $code"
grep -q 'models.yaml:2:' "$work/err" || fail "a bad catalogue is named with its line: $(cat "$work/err")"
"$flightplan" serve --check_config >/dev/null || fail "the defaults are fine"
for wrong in --http_listen=127.0.0.1:70000 --listen=127.0.0.1:99999 --decision_log=file:/nonexistent/x; do
  for check in --check_config ""; do
    code=0; "$flightplan" serve ${check:+"$check"} "$wrong" >"$work/out" 2>"$work/err" || code=$?
    [ "$code" = 2 ] && grep -q "${wrong##*[=/]}" "$work/err" || fail "serve $check $wrong: $code, $(cat "$work/err")"
  done
done
"$flightplan" serve --check_config --decision_log="file:$work/decisions.jsonl" >/dev/null || fail "a log that would be made is fine"
[ ! -e "$work/decisions.jsonl" ] || fail "--check_config makes no file"
FLIGHTPLAN_HTTP_LISTN=x "$flightplan" serve --check_config 2>"$work/err" >/dev/null || fail "a variable of nobody's is no error"
grep -q 'FLIGHTPLAN_HTTP_LISTN is no setting; did you mean FLIGHTPLAN_HTTP_LISTEN?' "$work/err" || fail "a misspelt variable: $(cat "$work/err")"
"$flightplan" serve --print_config --drain_delay=7s | grep '^drain_delay: 7s$' >/dev/null || fail "--print_config"

# --- Start ---
start_server s --listen=127.0.0.1:0 --listen="unix:$work/fp.sock" --http_listen=127.0.0.1:0 --drain_delay=120s \
  --decision_log="file:$work/decisions"
http_port="$(served s http_port)"
address="$(served s listen)"
[ -n "$http_port" ] && [ -n "$address" ] || fail "no 'serving' line"
address="${address%%, *}"

# --- Where strangers meet gRPC itself, it says what is not bounded; where they do not, nothing ---
! grep -q 'without a front' "$work/s.log" || fail "a server on loopback warns of strangers"
printf 'tokens: []\n' >"$work/tokens.yaml"
open=(--listen=127.0.0.1:0 --http_listen= --token_file="$work/tokens.yaml" --drain_delay=0s)
start_server open "${open[@]}" --listen=0.0.0.0:0 --allow_plaintext
grep -q '"warning".*without a front.*"listen":"0.0.0.0:0".*CVE-2023-44487' "$work/open.log" || fail "an open server warns: $(cat "$work/open.log")"
[ "$(grep -c 'without a front' "$work/open.log")" = 1 ] || fail "one warning"
stop_server "$server"
start_server behind "${open[@]}" --front_listen="unix:$work/front.sock"
! grep -q 'without a front' "$work/behind.log" || fail "a server behind a front warns of strangers"
stop_server "$server"
server="$(jobs -pr | head -n 1)"

# --- HTTP ---
[ "$(http /healthz)" = 200 ] || fail "/healthz"
[ "$(http /readyz)" = 200 ] || fail "/readyz"
[ "$(http /version)" = 200 ] || fail "/version"
[ "$(http /metrics)" = 200 ] || fail "/metrics"
if command -v promtool >/dev/null; then
  promtool check metrics <"$work/body" || fail "promtool does not like /metrics"
fi

# --- The same address twice ---
code=0; "$flightplan" serve --listen="$address" --http_listen= 2>"$work/err" || code=$?
[ "$code" = 2 ] || fail "an address in use ends with 2, not $code"
! grep -v '^{\|^flightplan serve: ' "$work/err" || fail "a line of gRPC's own among those of the log"
grep -q "$address" "$work/err" || fail "an address in use is named: $(cat "$work/err")"

# --- Bytes that are no HTTP/2 ---
for _ in 1 2 3; do
  head -c 100000 /dev/urandom >"/dev/tcp/127.0.0.1/${address##*:}" 2>/dev/null || true
done
[ "$(http /readyz)" = 200 ] || fail "not ready after garbage"

# --- The command line against both listeners gives what it gives in process ---
"$flightplan" gpus --format json >"$work/local.json"
for target in "$address" "unix:$work/fp.sock"; do
  "$flightplan" gpus --format json --server "$target" >"$work/remote.json" || fail "gpus --server $target"
  cmp "$work/local.json" "$work/remote.json" || fail "gpus by $target differ from those in process"
done
ask=(resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64 --target megatron-lm --format json)
local_code=0; "$flightplan" "${ask[@]}" >"$work/local.json" || local_code=$?
for _ in 1 2; do  # worked out, then cached
  remote_code=0; "$flightplan" "${ask[@]}" --server "$address" >"$work/remote.json" || remote_code=$?
  [ "$remote_code" = "$local_code" ] || fail "resolve ends with $local_code in process and $remote_code by the server"
  cmp "$work/local.json" "$work/remote.json" || fail "resolve differs by the server"
done
draw=(timeline --model qwen3-30b-a3b --gpu h100-sxm --gpus 32 --pp 4 --vpp 2 --ep 8 --tp 1 --format json)
"$flightplan" "${draw[@]}" >"$work/local.json"
"$flightplan" "${draw[@]}" --server "$address" >"$work/remote.json"
cmp "$work/local.json" "$work/remote.json" || fail "timeline differs by the server"
http /metrics >/dev/null
grep -q '^grpc_server_handled_total{grpc_code="OK",grpc_method="DescribeTimeline".* 1$' "$work/body" || fail "a timeline is counted"
grep -q '^flightplan_cache_requests_total{result="hit"} 1$' "$work/body" || fail "the second answer came from the cache"
are_two() { [ "$(grep -c decision_id "$work/decisions")" = 2 ]; }
wait_for "two decisions, two lines" are_two

# --- Reflection ---
# A generic client learns everything from the server. deploy/setup.sh puts buf there.
buf="$(command -v buf || ls "${XDG_CACHE_HOME:-$HOME/.cache}"/flightplan/buf-*/node_modules/.bin/buf 2>/dev/null | tail -n 1)" || true
if [ -n "$buf" ]; then
  ask() { "$buf" curl --http2-prior-knowledge --protocol grpc "$@" 2>"$work/err"; }
  ask --list-methods "http://$address" | grep flightplan.v1.ResolverService/ResolveConfig >/dev/null || fail "reflection"
  ask -d '{}' "http://$address/grpc.health.v1.Health/Check" | grep '"SERVING"' >/dev/null || fail "health: $(cat "$work/err")"
fi

# --- Graceful stop ---
kill -TERM "$server"
is_draining() { [ "$(http /readyz)" = 503 ]; }
wait_for "not ready while draining" is_draining
"$flightplan" gpus --server "$address" >/dev/null || fail "serves on while draining"
stop_server "$server"  # the second ends the delay
grep -q '"msg":"stopped"' "$work/s.log" || fail "no 'stopped' line"

# --- A server that belongs to another program ends with it ---
mkdir "$work/own"
exec {input}> >(exec "$flightplan" serve --stop_with_stdin --listen="unix:$work/own/s" --http_listen= --drain_delay=0s 2>"$work/own.log")
own_serves() { grep -q '"msg":"serving"' "$work/own.log"; }
wait_for "a server that stops with its standard input does not start" own_serves
"$flightplan" gpus --server "unix:$work/own/s" >/dev/null || fail "it answers while standard input is open"
echo "what it can read changes nothing" >&"$input"
"$flightplan" gpus --server "unix:$work/own/s" >/dev/null || fail "it answers after a line on standard input"
exec {input}>&-
own_stopped() { grep -q '"msg":"stopped"' "$work/own.log"; }
wait_for "it stops when standard input ends" own_stopped
[ ! -e "$work/own" ] || fail "the folder of its socket is left"
mkdir "$work/kept" && touch "$work/kept/file"
"$flightplan" serve --stop_with_stdin --listen="unix:$work/kept/s" --http_listen= --drain_delay=0s </dev/null 2>"$work/kept.log" ||
  fail "an empty standard input ends it with 0"
[ -e "$work/kept/file" ] || fail "a folder with other files is kept"
# Without the flag an empty standard input means nothing.
start_server daemon --listen="unix:$work/d" --http_listen= --drain_delay=0s </dev/null
"$flightplan" gpus --server "unix:$work/d" >/dev/null || fail "a service serves on without standard input"
stop_server "$server"
echo "server e2e: fine"
