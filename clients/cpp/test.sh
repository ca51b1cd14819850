#!/usr/bin/env bash
# Installs the C++ client and builds and runs the example against it. usage: test.sh BUILD_DIR FLIGHTPLAN_BINARY
set -euo pipefail
build="$1"
flightplan="$2"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
server=""
cleanup() {
  [ -z "$server" ] || kill -TERM "$server" 2>/dev/null || true
  [ -z "$server" ] || wait "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

# What is linked to instrumented libraries is instrumented itself. (-U: as in our own CMakeLists.txt.)
sanitize="$(sed -n 's/^FLIGHTPLAN_SANITIZE:STRING=//p' "$build/CMakeCache.txt")"
[ -z "$sanitize" ] || export CXXFLAGS="-fsanitize=$sanitize -U__SANITIZE_THREAD__"

cmake --install "$build" --component client --prefix "$work/prefix" >/dev/null
cp -r "$here/example" "$work/example"  # nothing of the source tree beside it
cmake -S "$work/example" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/build" >"$work/log" || { cat "$work/log"; exit 1; }

"$flightplan" serve --listen="unix:$work/fp.sock" --http_listen= --drain_delay=0s 2>"$work/server.log" &
server=$!
for _ in $(seq 200); do [ -S "$work/fp.sock" ] && break; sleep 0.05; done
"$work/build/example" "unix:$work/fp.sock" >"$work/argv"
grep -qx -- --expert-model-parallel-size "$work/argv" || { echo "no launch"; cat "$work/argv"; exit 1; }
if "$work/build/example" 127.0.0.1:1 >"$work/argv" 2>"$work/err"; then echo "a dead server is no answer"; exit 1; fi
echo "installed package: fine, $(find "$work/prefix" -type f | wc -l) files"
