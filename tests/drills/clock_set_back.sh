#!/usr/bin/env bash
# The clock is set while the server serves and drains: forward by an hour whenever a thread looks at it, and health says what it
# did; back by an hour while it drains, and it stops when it would have stopped.
# usage: clock_set_back.sh FLIGHTPLAN
set -euo pipefail
flightplan="$1"
# shellcheck source=tests/support/server.sh
source "$(dirname "$0")/../support/server.sh"
command -v cc >/dev/null || skip "no C compiler"

cat >"$work/clock.c" <<C
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec* now) {
  static __thread long looked;
  const long code = syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME && access("$work/forward", F_OK) == 0) now->tv_sec += 3600 * ++looked;
  if (clock == CLOCK_REALTIME && access("$work/back", F_OK) == 0) now->tv_sec -= 3600;
  return (int)code;
}
C
cc -shared -fPIC -o "$work/clock.so" "$work/clock.c"
ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD="$work/clock.so" \
  spawn_server s --listen="unix:$work/s.sock" --http_listen=127.0.0.1:0 --evidence_store=off --drain_delay=2s
wait_for "the server does not start" is_serving s
# The server dials itself once a second, and waits for the answer by a clock.
health="http://127.0.0.1:$(served s http_port)"
touch "$work/forward"
for _ in 1 2 3 4 5 6; do
  sleep 1
  for path in healthz readyz; do
    [ "$(curl -s -o "$work/answer" -w '%{http_code}' "$health/$path")" = 200 ] || fail "/$path while the clock goes forward: $(cat "$work/answer")"
  done
done
rm "$work/forward"
kill -TERM "$server"
draining() { grep -q '"msg":"draining"' "$work/s.log"; }
wait_for "it does not drain" draining
touch "$work/back"
gone() { ! kill -0 "$server" 2>/dev/null; }
wait_for "it still drains a minute after the clock was set back" gone
code=0; wait "$server" || code=$?
[ "$code" = 0 ] || fail "it ends with $code"
first="$(sed -n 's/.*"ts":"[^T]*T\([0-9]*\):.*"msg":"draining".*/\1/p' "$work/s.log")"
last="$(sed -n 's/.*"ts":"[^T]*T\([0-9]*\):.*"msg":"stopped".*/\1/p' "$work/s.log")"
[ "$first" != "$last" ] || fail "the server did not see another clock"
echo "clock set forward while it serves: healthy; set back by an hour while it drains: it stops all the same"
