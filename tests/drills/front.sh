#!/usr/bin/env bash
# One server behind its front (deploy/haproxy/front.cfg), on a unix socket: what strangers send at the front costs neither
# of the two more than a bound, and a good client beside them is answered; then who callers are through it: tokens, client
# certificates, and nobody by a header of his own. usage: front.sh [SECONDS [bare]]
# bare: each attack at the server itself first, for comparison; nothing of that is judged.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/front_lib.sh"
seconds="${1:-4}"
most_mib=64          # more than before, of front and server each
most_ms_a_second=500 # of one core, both together, with the good client's calls
cat >"$work/tokens.yaml" <<YAML
tokens: [{sha256: $(printf good | sha256sum | cut -d' ' -f1), tenant: good, roles: [admin], expires: 2126-01-01T00:00:00Z}]
certificates: [{name: spiffe://drill/launcher, tenant: launch, roles: [read]}]
unix_socket: {tenant: node, roles: [admin]}
YAML
# serve_both: a server that listens for the front, and on loopback without it.
serve_both() {
  rm -f "$work/front.sock"
  serve a --log_level=error --token_file="$work/tokens.yaml" --front_listen="unix:$work/front.sock"
}
# beside HOW PORT: attacks that port for the time, a good client beside it. Sets peak_front, peak_server, ms_front,
# ms_server (more than before), attack and good.
beside() {
  local attacker before_front before_server
  load --target="$2" --token=good --rate=50 --seconds=1 >/dev/null 2>&1 || true  # what is built on first use
  before_front="$(rss_mib "$pid_front")" before_server="$(rss_mib "$pid_a")"
  peak_front=0 peak_server=0
  ms_front="$(cpu_ms "$pid_front")" ms_server="$(cpu_ms "$pid_a")"
  if [ "$1" = resets ]; then
    "$here/reset_streams.py" "${2##*:}" "$seconds" >"$work/attack" &
  else
    "$here/http2_strangers.py" "${2##*:}" "$seconds" "$1" >"$work/attack" &
  fi
  attacker=$!
  load --target="$2" --token=good --rate=50 --seconds="$seconds" >"$work/good" 2>"$work/errors" &
  while kill -0 "$attacker" 2>/dev/null || kill -0 $! 2>/dev/null; do
    kill -0 "$pid_a" 2>/dev/null || break
    local front_mib=$(($(rss_mib "$pid_front") - before_front)) server_mib=$(($(rss_mib "$pid_a") - before_server))
    [ "$front_mib" -le "$peak_front" ] || peak_front="$front_mib"
    [ "$server_mib" -le "$peak_server" ] || peak_server="$server_mib"
    sleep 0.05
  done
  wait "$attacker" || true
  wait $! || true
  ms_front=$(($(cpu_ms "$pid_front") - ms_front)) ms_server=$(($(cpu_ms "$pid_a") - ms_server))
  attack="$(cat "$work/attack")" good="$(cat "$work/good")"
  echo "front $1 at ${3:-the front}: $attack, front +${peak_front}_mib ${ms_front}_ms, server +${peak_server}_mib ${ms_server}_ms," \
    "good client $(grep -o 'total=[^ ]* ok=[^ ]*' "$work/good" | tr '\n' ' ')p99_ms=$(field p99_ms <"$work/good")"
}

serve_both
put_front "$work/front.sock"
for how in fields field padding bodies resets; do
  if [ "${2:-}" = bare ]; then
    beside "$how" "127.0.0.1:$port_a" "the server"
    kill -KILL "$pid_a" && wait "$pid_a" 2>/dev/null || true  # what it still has to do is not the front's
    serve_both
  fi
  beside "$how" "$front"
  [ "$(field failed <"$work/good")" = 0 ] && [ "$(field unanswered <"$work/good")" = 0 ] ||
    fail "$how: calls of the good client failed: $(cat "$work/errors")"
  [ "$peak_front" -le "$most_mib" ] && [ "$peak_server" -le "$most_mib" ] || fail "$how: memory"
  [ $((ms_front + ms_server)) -le $((most_ms_a_second * seconds)) ] || fail "$how: CPU"
  # Beside a good client of the same address as the stranger's next, nothing is left over.
  kill "$pid_front" && wait "$pid_front" 2>/dev/null || true
  put_front "$work/front.sock"
done

# Who callers are. as WHO FLAGS...: a look-up by curl; sets status, gRPC's.
printf '\0\0\0\0\0' >"$work/empty"
as() {
  local who="$1"
  shift
  status="$(curl -s --http2-prior-knowledge -D - -o /dev/null -H 'content-type: application/grpc' -H 'te: trailers' --data-binary \
    @"$work/empty" "$@" 2>>"$work/errors" | tr -d '\r' | sed -n 's/^grpc-status: //ip' | tail -n 1)" || true
  echo "front identities: $who gets ${status:-no answer}"
}
look_up=/flightplan.v1.CatalogService/ListGpus
certificate() { # NAME AUTHORITY SUBJECT ALTERNATIVE
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/$1.key" -out "$work/csr" -subj "$3" \
    -addext "subjectAltName=$4" 2>/dev/null
  openssl x509 -req -in "$work/csr" -CA "$work/$2.pem" -CAkey "$work/$2.key" -CAcreateserial -days 1 -copy_extensions copy \
    -out "$work/$1.crt" 2>/dev/null
}
for name in ca other; do
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/$name.key" -out "$work/$name.pem" -days 1 \
    -subj "/CN=$name" 2>/dev/null
done
certificate tls ca /CN=localhost DNS:localhost,IP:127.0.0.1
certificate launcher ca /CN=x URI:spiffe://drill/launcher
certificate posing ca '/CN=spiffe:\/\/drill\/launcher' URI:spiffe://drill/nobody
certificate theirs other /CN=x URI:spiffe://drill/launcher
forged="flightplan-client-certificate-bin: $(openssl x509 -in "$work/launcher.crt" -outform DER | base64 -w0)"
url="http://$front$look_up"
as "a stranger" "$url"
[ "$status" = 16 ] || fail "a stranger behind the front passes for a caller on this machine"
as "a token" -H 'authorization: Bearer good' "$url"
[ "$status" = 0 ] || fail "tokens do not get through the front"
as "a forged header" -H "$forged" "$url"
[ "$status" = 16 ] || fail "the front lets a client name its own certificate"
kill "$pid_front" && wait "$pid_front" 2>/dev/null || true
export FLIGHTPLAN_FRONT_CERT="$work/tls.crt" FLIGHTPLAN_CLIENT_CA="$work/ca.pem"
put_front "$work/front.sock"
url="https://$front$look_up"
tls=(--http2 --cacert "$work/ca.pem")
as "a certificate" "${tls[@]}" --cert "$work/launcher.crt" --key "$work/launcher.key" "$url"
[ "$status" = 0 ] || fail "client certificates do not get through the front"
as "a certificate that belongs to nobody, with a forged header" "${tls[@]}" -H "$forged" --cert "$work/posing.crt" --key "$work/posing.key" "$url"
[ "$status" = 16 ] || fail "the front lets a client name its own certificate"
as "a certificate of another authority" "${tls[@]}" --cert "$work/theirs.crt" --key "$work/theirs.key" "$url"
[ -z "$status" ] || fail "the front takes certificates of anybody"
as "no certificate" "${tls[@]}" "$url"
[ -z "$status" ] || fail "the front asks nobody for a certificate"

# A new certificate, without a restart; one that is none changes nothing.
shown() { openssl s_client -connect "$front" -alpn h2 -cert "$work/launcher.crt" -key "$work/launcher.key" </dev/null 2>/dev/null | openssl x509 -noout -serial; }
old="$(shown)"
is_new() { [ "$(shown)" = "$(openssl x509 -noout -serial -in "$work/new.crt")" ]; }
certificate new ca /CN=localhost DNS:localhost,IP:127.0.0.1
mv "$work/new.key" "$work/tls.key" && cp "$work/new.crt" "$work/tls.crt"
wait_for "the front does not take a new certificate" is_new
[ "$old" != "$(shown)" ] || fail "both certificates are one"
echo junk >"$work/tls.crt"
refused() { grep -q 'certificate refused' "$work/haproxy.log"; }
wait_for "nothing says that the certificate is bad" refused
is_new || fail "a bad certificate ends the good one"
kill "$pid_front" && wait "$pid_front" 2>/dev/null || true
unset FLIGHTPLAN_FRONT_CERT FLIGHTPLAN_CLIENT_CA

# A server that drains: its callers are sent away while it still answers, and its front ends after it.
kill -TERM "$pid_a" && wait "$pid_a" || fail "SIGTERM does not end the server with 0"
serve a --log_level=error --token_file="$work/tokens.yaml" --front_listen="unix:$work/front.sock" --drain_delay=4s
FLIGHTPLAN_FRONT_LEAVES=1 put_front "$work/front.sock"
"$here/goaway.py" "${front##*:}" "$pid_a" good >"$work/goaway" 2>"$work/errors" || fail "drain: $(cat "$work/errors")"
front_is_gone() { ! kill -0 "$pid_front" 2>/dev/null; }
wait_for "the front does not end with its server" front_is_gone
wait "$pid_a" || fail "SIGTERM does not end the server with 0"
echo "front drain: $(cat "$work/goaway")"
