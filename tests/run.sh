#!/usr/bin/env bash
# Every test: set-up, the checks of the sources, the build, then all of CTest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<EOF
usage: tests/run.sh [--preset release|dev|asan|tsan] [--no-setup] [CTEST ARGUMENTS...]
  --preset     what to build and test (default: release)
  --no-setup   take the machine as it is
  further arguments go to ctest: tests/run.sh -R resolver
EOF
}

preset=release
setup=true
while [ $# -gt 0 ]; do
  case "$1" in
    --preset) preset="$2"; shift 2 ;;
    --no-setup) setup=false; shift ;;
    -h | --help) usage; exit 0 ;;
    *) break ;;
  esac
done

step() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

step "set-up"
if $setup; then
  deploy/setup.sh --cuda
  deploy/setup_clients.sh || echo "set-up: the tests of those clients will fail or say skipped" >&2
fi
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
cmake --preset "$preset" >/dev/null

step "sources: format, lint settings, layers, protos"  # these need no build, so they speak first
ctest --preset "$preset" --no-tests=error -L source

step "build"
cmake --build --preset "$preset"

step "tests"
ctest --preset "$preset" --no-tests=error -LE source -j "$(nproc)" "$@"

step "done"
