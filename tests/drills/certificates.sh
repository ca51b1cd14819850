#!/usr/bin/env bash
# A new certificate every second under load with new connections all the time: no call fails. usage: certificates.sh [SECONDS]
source "$(dirname "$0")/lib.sh"
seconds="${1:-60}"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/ca.key" -out "$work/ca.pem" -days 1 \
  -subj /CN=drill-ca 2>/dev/null
issue() {  # issue FOLDER
  mkdir -p "$1"
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1/tls.key" -out "$1/csr" \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
  openssl x509 -req -in "$1/csr" -CA "$work/ca.pem" -CAkey "$work/ca.key" -CAcreateserial -days 1 -copy_extensions copy \
    -out "$1/tls.crt" 2>/dev/null
}
issue "$work/gen0"
ln -s gen0 "$work/current"
serve a --log_level=error --tls_cert_file="$work/current/tls.crt" --tls_key_file="$work/current/tls.key"
end=$((SECONDS + seconds))
{
  generation=0
  while [ "$SECONDS" -lt "$end" ]; do
    generation=$((generation + 1))
    issue "$work/gen$generation"
    ln -sfn "gen$generation" "$work/next" && mv -T "$work/next" "$work/current"  # one step, as Kubernetes does it
    echo "$generation" >"$work/generation"
    sleep 1
  done
} &
ok=0 failed=0 runs=0
while [ "$SECONDS" -lt "$end" ]; do  # four fresh connections each second
  line="$(load --target="127.0.0.1:$port_a" --ca="$work/ca.pem" --rate=100 --seconds=1 2>>"$work/err" || true)"
  ok=$((ok + $(echo "$line" | field ok))); runs=$((runs + 1))
  failed=$((failed + $(echo "$line" | field failed) + $(echo "$line" | field unanswered)))
done
echo "certificates: rotations=$(cat "$work/generation") connections=$((runs * 4)) ok=$ok failed=$failed"
first="$(openssl x509 -noout -serial -in "$work/gen0/tls.crt")"
now="$(openssl s_client -connect "127.0.0.1:$port_a" -alpn h2 </dev/null 2>/dev/null | openssl x509 -noout -serial)"
[ "$failed" = 0 ] && [ "$ok" -gt 0 ] || fail "calls failed: $(tail -3 "$work/err")"
[ -n "$now" ] && [ "$now" != "$first" ] || fail "the server still shows its first certificate"
# The oldest TLS that is spoken (deploy/hardening.md). A client of 1.1 alone has to lower OpenSSL's own level first.
speaks() { openssl s_client -connect "127.0.0.1:$port_a" -alpn h2 -cipher ALL:@SECLEVEL=0 "$1" </dev/null 2>/dev/null | grep -q "BEGIN CERTIFICATE"; }
speaks -tls1_2 && speaks -tls1_3 || fail "TLS 1.2 and 1.3 are not both spoken"
! speaks -tls1_1 || fail "TLS 1.1 is spoken"
