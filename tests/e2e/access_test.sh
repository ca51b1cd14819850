#!/usr/bin/env bash
# Tokens, TLS, reload by SIGHUP and a log without secrets, with the real binary. usage: access_test.sh FLIGHTPLAN_BINARY
set -euo pipefail
flightplan="$1"
# shellcheck source=tests/support/server.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/server.sh"
metric() { curl -s "http://127.0.0.1:$http_port/metrics" | sed -n "s/^$1 //p"; }
digest() { printf %s "$1" | sha256sum | cut -d' ' -f1; }

command -v openssl >/dev/null || skip "openssl is not installed"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/key.pem" -out "$work/cert.pem" \
  -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
secret="hunter2-$(openssl rand -hex 8)"
token() { echo "  - {sha256: $(digest "$1"), tenant: $2, roles: [$3], expires: 2126-01-01T00:00:00Z}"; }
{ echo "tokens:"; token "$secret" research "read, resolve"; token reader reading read; } >"$work/tokens.yaml"
mkdir "$work/site"
start_server s --listen=127.0.0.1:0 --http_listen=127.0.0.1:0 --drain_delay=0s --log_level=debug \
  --tls_cert_file="$work/cert.pem" --tls_key_file="$work/key.pem" --token_file="$work/tokens.yaml" \
  --catalog_dir="$work/site" --decision_log="file:$work/decisions"
http_port="$(served s http_port)"
address="$(served s listen)"
address="localhost:${address##*:}"
export FLIGHTPLAN_CA_FILE="$work/cert.pem"

# --- Right and wrong credentials ---
ask() { FLIGHTPLAN_TOKEN="$1" "$flightplan" "${@:2}" --server "$address" >"$work/out" 2>"$work/err"; }
ask "$secret" gpus || fail "a good token: $(cat "$work/err")"
ask "$secret" resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64 ||
  [ -s "$work/out" ] || fail "resolve with a good token: $(cat "$work/err")"
! ask "" gpus || fail "no token was let in"
! ask "$secret-x" gpus || fail "a wrong token was let in"
! ask reader resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64 || fail "a reader resolved"
grep -q "role resolve" "$work/err" || fail "the missing role is named: $(cat "$work/err")"
! FLIGHTPLAN_CA_FILE="" ask "$secret" gpus || fail "plain text was let in"

# --- A token's own line break is none of it; what no header carries is refused and not shown ---
ask "$secret"$'\n' gpus || fail "a good token with a line break behind it: $(cat "$work/err")"
for token in "$secret"$'\n'"b" "$secret b" "$secret"$'\xc3\xa9'; do
  code=0
  ask "$token" gpus || code=$?
  [ "$code" = 2 ] && grep -q FLIGHTPLAN_TOKEN "$work/err" && ! grep -q "$secret" "$work/err" ||
    fail "a token that no header carries ended with $code: $(cat "$work/err")"
done

# --- A token does not go to another machine (TEST-NET-1, nobody) in plain text, for any command that asks a server ---
for command in "gpus" "validate $work/cert.pem" "validate --batch $work" "probe --list" "plan --model qwen3-30b-a3b --gpu h100-sxm --gpus 16" "evidence list"; do
  code=0
  # shellcheck disable=SC2086
  FLIGHTPLAN_CA_FILE="" FLIGHTPLAN_TOKEN="$secret" "$flightplan" $command --server 192.0.2.1:1 >"$work/out" 2>"$work/err" || code=$?
  [ "$code" = 2 ] || fail "flightplan $command: a token in plain text to another machine ended with $code"
  grep -q "a token is not sent to 192.0.2.1:1 in plain text: use TLS, or set FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN=1" "$work/err" ||
    fail "flightplan $command does not say why: $(cat "$work/err")"
done
code=0
FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN=1 FLIGHTPLAN_CA_FILE="" FLIGHTPLAN_TOKEN="$secret" timeout 30 "$flightplan" gpus --server 192.0.2.1:1 \
  >"$work/out" 2>"$work/err" || code=$?
[ "$code" = 3 ] || fail "where it is allowed, the server is asked: $code, $(cat "$work/err")"

# --- A proxy of the environment hears of no plain text and of no local address; TLS to another machine may need it ---
python3 -c '
import socket, sys
proxy = socket.create_server(("127.0.0.1", 0))
print(proxy.getsockname()[1], flush=True)
while True:
    print("asked for", proxy.accept()[0].recv(4096).split()[1].decode(), flush=True)' >"$work/proxy" &
wait_for "a proxy" test -s "$work/proxy"
through() { env {http,https,grpc}_proxy="http://127.0.0.1:$(head -1 "$work/proxy")" FLIGHTPLAN_TOKEN="$secret" "$@" >"$work/out" 2>"$work/err"; }
through "$flightplan" gpus --server "$address" || fail "TLS to localhost where there is a proxy: $(cat "$work/err")"
! through env FLIGHTPLAN_CA_FILE= FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN=1 timeout 5 "$flightplan" gpus --server 192.0.2.1:1 || fail "nobody has answered"
! grep -q asked "$work/proxy" || fail "a proxy could read a token: $(cat "$work/proxy")"
! through timeout 5 "$flightplan" gpus --server 192.0.2.1:1 || fail "nobody has answered"
grep -q "asked for 192.0.2.1:1" "$work/proxy" || fail "TLS goes by the proxy"

# --- What has no effect, and plain text where TLS is spoken, are said ---
code=0
FLIGHTPLAN_CA_FILE="" FLIGHTPLAN_CERT_FILE="$work/cert.pem" ask "" gpus || code=$?
[ "$code" = 2 ] || fail "a certificate that is not shown ended with $code"
grep -q "FLIGHTPLAN_CERT_FILE needs FLIGHTPLAN_CA_FILE" "$work/err" || fail "a certificate that is not shown: $(cat "$work/err")"
! FLIGHTPLAN_CA_FILE="" ask "" gpus || fail "plain text was let in"
grep -q "does the server speak TLS? FLIGHTPLAN_CA_FILE" "$work/err" || fail "plain text to TLS: $(cat "$work/err")"

# --- Secrets in a request: in an argument, an environment value, a model's name ---
printf 'export WANDB_API_KEY=%s\ntorchrun train.py --wandb-key %s --num-layers lots\n' "$secret" "$secret" >"$work/launch.sh"
ask "$secret" validate "$work/launch.sh" || true
ask "$secret" resolve --model "$secret" --gpu h100-sxm --gpus 8 || true
FLIGHTPLAN_TOKEN="$secret-x" "$flightplan" gpus --server "$address" >/dev/null 2>&1 || true

# --- Reload ---
printf 'models: [{name: broken, num_layers: -3}]\n' >"$work/site/models.yaml"
printf 'tokens: [{tenant: t}]\n' >"$work/tokens.new"
cp "$work/tokens.yaml" "$work/tokens.good"
mv "$work/tokens.new" "$work/tokens.yaml"
kill -HUP "$server"
refused_twice() { [ "$(grep -c '"msg":"reload refused"' "$work/s.log")" = 2 ]; }
wait_for "two bad files are named" refused_twice
grep -q 'models.yaml:1:' "$work/s.log" || fail "the bad catalogue is named with its line"
[ "$(metric flightplan_catalog_reload_failures_total)" = 1 ] || fail "flightplan_catalog_reload_failures_total"
[ "$(metric 'flightplan_access_reload_failures_total{file="tokens"}')" = 1 ] || fail "access_reload_failures_total"
ask "$secret" gpus || fail "the last good tokens are in force"

before="$(curl -s "http://127.0.0.1:$http_port/version")"
cat >"$work/site/models.yaml" <<'EOF'
models:
  - {name: our-own-model, num_layers: 4, hidden_size: 1024, num_attention_heads: 16, vocab_size: 32000, ffn_hidden_size: 4096, num_query_groups: 4, kv_channels: 64}
EOF
{ echo "tokens:"; token second research "read, resolve"; } >"$work/tokens.yaml"
kill -HUP "$server"
reloaded_twice() { [ "$(grep -c '"msg":"reloaded"' "$work/s.log")" = 2 ]; }
wait_for "both good files are taken: $(grep refused "$work/s.log" | tail -1)" reloaded_twice
! ask "$secret" gpus || fail "a token that is gone was let in"
ask second models || fail "the new token"
grep -q our-own-model "$work/out" || fail "the new catalogue"
[ "$(curl -s "http://127.0.0.1:$http_port/version")" != "$before" ] || fail "/version shows the new catalogue"
[ "$(curl -s "http://127.0.0.1:$http_port/metrics" | grep -c '^flightplan_build_info')" = 1 ] || fail "one build_info"

stop_server "$server"
! grep -q "$secret" "$work/s.log" "$work/decisions" || fail "the secret stands in a log"
grep -q '"tenant":"research"' "$work/s.log" || fail "the tenant stands in the log"
echo "access e2e: fine"
