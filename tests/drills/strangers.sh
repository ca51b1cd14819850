#!/usr/bin/env bash
# Somebody without a credential, at an address of his own, holds at the balancer all that he is given: silent connections,
# headers and calls without an end, and a flood in which every call shows another token. Beside him every call of a good
# client is answered, and the balancer's memory stays below a bound. Then the same balancer with TLS before and behind it.
# usage: strangers.sh [SECONDS]
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/balancer.sh"
[ -x "$bin/flood_client" ] || skip "flood_client is not built (it needs libnghttp2-dev; deploy/setup.sh installs it)"
seconds="${1:-4}"
most_mib=128         # of the balancer
most_connections=200 # FLIGHTPLAN_CONNECTIONS of strangers.cfg
flood() { "$bin/flood_client" --target="$front" "$@" 2>>"$work/errors" || true; }
# all_answered LINE WHAT
all_answered() {
  [ "$(echo "$1" | field ok)" = "$(echo "$1" | field total)" ] || fail "beside $2 not every call of the good client was answered: $1"
}
figures() { echo "$1" | grep -o 'total=[^ ]* ok=[^ ]*' | tr '\n' ' '; echo "p99_ms=$(echo "$1" | field p99_ms)"; }
# again: a balancer without what the last one had in its tables.
again() {
  kill "$pid_front" && wait "$pid_front" 2>/dev/null || true
  balance "$@"
}

serve a --log_level=error --cache_bytes=0
balance a
flood --rate=100 --seconds=1 >/dev/null  # what is built on first use
for how in idle slow headers calls; do
  "$here/strangers.py" "${front##*:}" $((seconds + 6)) "$how" >"$work/stranger" &
  stranger=$!
  sleep 4  # he has what he gets
  good="$(load --target="$front" --rate=50 --seconds="$seconds" 2>>"$work/errors" || true)"
  mib="$(rss_mib "$pid_front")"
  wait "$stranger"
  echo "strangers $how: $(cat "$work/stranger"), balancer_mib=$mib, good client $(figures "$good")"
  all_answered "$good" "$how"
  # The last ones the kernel has taken, and HAProxy not yet ended.
  [ "$(field left <"$work/stranger")" -le $((most_connections + 10)) ] || fail "$how: one address keeps more connections than $most_connections"
  [ "$mib" -le "$most_mib" ] || fail "$how: memory of the balancer"
  again a
done

# Two addresses, thousands of calls a second, another token with each.
floods=()
for address in 127.0.0.2 127.0.0.3; do
  flood --rate=3000 --seconds=$((seconds + 2)) --from=$address --new_tokens >"$work/flood$address" &
  floods+=($!)
done
sleep 1
good="$(flood --rate=50 --seconds="$seconds" --token=good)"
wait "${floods[@]}"
echo "strangers tokens: $(grep -ho 'total=[^ ]* ok=[^ ]*' "$work"/flood127* | tr '\n' ' ')good client $(figures "$good")"
# A replica's place is free only now and then: a good call in twenty may meet none.
[ $(($(echo "$good" | field ok) * 20)) -ge $(($(echo "$good" | field total) * 19)) ] || fail "callers with made-up tokens took the good client's places: $good"

# TLS on both sides, and no call when the replica is not who it should be.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/ca.key" -out "$work/ca.pem" -days 1 \
  -subj /CN=drill-ca 2>/dev/null
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/tls.key" -out "$work/csr" \
  -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
openssl x509 -req -in "$work/csr" -CA "$work/ca.pem" -CAkey "$work/ca.key" -CAcreateserial -days 1 -copy_extensions copy \
  -out "$work/tls.crt" 2>/dev/null
cat "$work/tls.crt" "$work/tls.key" >"$work/front.pem"
serve b --log_level=error --tls_cert_file="$work/tls.crt" --tls_key_file="$work/tls.key" --tls_client_ca_file="$work/ca.pem"
export FLIGHTPLAN_FRONT_CERT="$work/front.pem" FLIGHTPLAN_REPLICA_CA="$work/ca.pem" FLIGHTPLAN_REPLICA_NAME=localhost \
  FLIGHTPLAN_REPLICA_CERT="$work/front.pem"
again b
good="$(load --target="$front" --ca="$work/ca.pem" --rate=50 --seconds=1 2>>"$work/errors" || true)"
echo "strangers TLS: $(figures "$good")"
all_answered "$good" TLS
plain="$(load --target="$front" --rate=20 --seconds=1 2>>"$work/errors" || true)"
[ "$(echo "$plain" | field ok)" = 0 ] || fail "the balancer with a certificate takes plain text: $plain"
export FLIGHTPLAN_REPLICA_NAME=somebody-else
again b
wrong="$(load --target="$front" --ca="$work/ca.pem" --rate=20 --seconds=1 2>>"$work/errors" || true)"
[ "$(echo "$wrong" | field ok)" = 0 ] || fail "the balancer hands calls to a replica with another name: $wrong"
echo "strangers TLS: plain text and a replica of another name get nothing"
