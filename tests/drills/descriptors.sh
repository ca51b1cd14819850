#!/usr/bin/env bash
# Idle connections until no descriptor is left. A soft limit is raised, so that 1,100 of them disturb nobody; where the
# hard limit is reached, gRPC 1.51 accepts nobody any more, even when all have gone (CVE-2023-4785): then /readyz says so
# within seconds, and /healthz, so that whoever watches starts the server anew. usage: descriptors.sh
source "$(dirname "$0")/lib.sh"

# idle PORT COUNT: opens connections, prints how many there are, and keeps them until it is ended.
idle() {
  python3 - "$1" "$2" <<'EOF' &
import resource, socket, sys, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
for _ in range(int(sys.argv[2])):
    held.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5))
time.sleep(600)
EOF
  crowd=$!
}
health() { curl -s -o /dev/null -m 5 -w '%{http_code}' "http://127.0.0.1:$http_a/$1" || true; }
# says PATH CODE: waits for it, half a minute at most.
says() {
  for _ in $(seq 300); do
    [ "$(health "$1")" != "$2" ] || return 0
    sleep 0.1
  done
  fail "/$1 never said $2, but $(health "$1")"
}
calls() { load --target="127.0.0.1:$port_a" --rate=100 --seconds=2 | field failed; }

# ---- a soft limit
ulimit -Sn 1024
serve a --log_level=error --drain_delay=0s
idle "$port_a" 1100
for _ in $(seq 300); do [ "$(descriptors "$pid_a")" -lt 1100 ] || break; sleep 0.1; done
[ "$(descriptors "$pid_a")" -ge 1100 ] || fail "the crowd was not let in: $(descriptors "$pid_a") descriptors"
[ "$(calls)" = 0 ] || fail "calls failed beside 1,100 idle connections"
[ "$(health readyz) $(health healthz)" = "200 200" ] || fail "not healthy beside 1,100 idle connections"
kill "$crowd"
kill -TERM "$pid_a" && wait "$pid_a"
echo "descriptors: soft=1024 idle=1100 failed=0"

# ---- the hard limit
ulimit -n 256
serve a --log_level=error --drain_delay=0s
[ "$(health readyz) $(health healthz)" = "200 200" ] || fail "not healthy at first"
idle "$port_a" 200
first="$crowd"
idle "$port_a" 200
says readyz 503
kill "$first" "$crowd"
wait "$first" "$crowd" 2>/dev/null || true
# Either it accepts again, or it says that it never will.
sleep 8
if [ "$(calls)" = 0 ]; then
  says readyz 200
  accepts=yes
else
  says healthz 503
  accepts=no
fi
kill -TERM "$pid_a" && wait "$pid_a"
echo "descriptors: hard=256 idle=400 accepts_again=$accepts, and health says so"
