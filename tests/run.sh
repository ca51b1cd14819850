#!/usr/bin/env bash
# The tests: set-up, the checks of the sources, the build, then CTest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source deploy/progress.sh

usage() {
  cat <<EOF
usage: tests/run.sh [--all] [--preset release|dev|asan|tsan] [--no-setup] [CTEST ARGUMENTS...]
  --all        also the second tier: tests that need a cluster, a toolchain, a machine of their own or minutes
  --preset     what to build and test (default: release)
  --no-setup   take the machine as it is
  further arguments go to ctest: tests/run.sh -R resolver
EOF
}

preset=release
setup=true
all=false
while [ $# -gt 0 ]; do
  case "$1" in
    --all) all=true; shift ;;
    --preset) preset="${2:?--preset wants a name}"; shift 2 ;;
    --no-setup) setup=false; shift ;;
    -h | --help) usage; exit 0 ;;
    *) break ;;
  esac
done

step() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }
# What a configuration needs beside the packages: the clients' own, and the CUDA compiler.
clients=(python)
settings=(-DFLIGHTPLAN_TESTS=ON -DFLIGHTPLAN_CUDA=OFF)
left_out=slow
if $all; then
  clients=()  # all of them
  settings=(-DFLIGHTPLAN_TESTS=ON -DFLIGHTPLAN_CUDA=ON -DFLIGHTPLAN_WERROR=ON)
  left_out=none
fi
[[ "$preset" != asan && "$preset" != tsan ]] || settings+=(-DFLIGHTPLAN_CUDA=OFF)

# What a change is compared with: where its branch left main; on main itself the commit before.
changed_since() {
  local base
  base="$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || true)"
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then base="$(git rev-parse HEAD~1)"; fi
  echo "$base"
}

if $setup; then
  step "set-up"
  if $all; then deploy/setup.sh --all; else deploy/setup.sh; fi
  deploy/setup_clients.sh "${clients[@]}" || echo "set-up: the tests of those clients will fail or say skipped" >&2
fi
cmake --preset "$preset" "${settings[@]}" >/dev/null

step "sources: format, lint settings, layers, licences"  # these need no build, so they speak first
ctest --preset "$preset" --no-tests=error -L source -LE "$left_out"

step "build"
build "$preset" all

step "tests"
ctest --preset "$preset" --no-tests=error -LE "source|$left_out" -j "$(nproc)" "$@"

if $all && [ "$preset" = release ]; then
  step "clang-tidy on what changed; on everything: tests/style/tidy.py"
  tests/style/tidy.py --since "$(changed_since)"

  step "AddressSanitizer and UndefinedBehaviorSanitizer"
  cmake --preset asan "${settings[@]}" -DFLIGHTPLAN_CUDA=OFF -DFLIGHTPLAN_WERROR=OFF >/dev/null  # GCC warns falsely there
  build asan sanitized_suite
  ctest --preset asan --no-tests=error -L sanitized -LE slow -j "$(nproc)"
fi

if ! $all; then
  step "left out, the second tier: tests/run.sh --all"
  ctest --preset "$preset" -N -L slow | sed -n 's/^ *Test *#[0-9]*: /  /p' | tr '\n' ' ' | fold -s -w 116
  echo
fi
step "done"
