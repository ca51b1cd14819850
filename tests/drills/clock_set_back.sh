#!/usr/bin/env bash
# The clock is set back by an hour while the server drains: it stops when it would have stopped.
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
  const long code = syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME && access("$work/back", F_OK) == 0) now->tv_sec -= 3600;
  return (int)code;
}
C
cc -shared -fPIC -o "$work/clock.so" "$work/clock.c"
ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD="$work/clock.so" "$flightplan" serve --listen="unix:$work/s.sock" --http_listen= --evidence_store=off \
  --drain_delay=2s 2>"$work/s.log" &
server=$!
wait_for "the server does not start" is_serving s
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
echo "clock set back by an hour while the server drains: it stops all the same"
