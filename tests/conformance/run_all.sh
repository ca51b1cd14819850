#!/usr/bin/env bash
# Every client against one real server with the same cases; prints one table.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"

usage() {
  cat <<USAGE
usage: tests/conformance/run_all.sh [--build DIR] [--only CLIENT]...
  --build DIR    where flightplan and conformance_runner were built (default: build/release)
  --only CLIENT  only this one, beside cpp, with which it is compared; may be repeated
Clients: cpp, cli, and each folder of clients/ with a conformance.sh, which builds and runs that client's runner, or
ends with 77 and says on its last line what it lacks.
USAGE
}

build="$root/build/release"
only=()
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build="$(realpath "$2")"; shift 2 ;;
    --only) only+=("$2"); shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

flightplan="$build/bin/flightplan"
# shellcheck source=tests/support/server.sh
source "$here/../support/server.sh"

wanted() {
  local name
  [ ${#only[@]} = 0 ] && return 0
  for name in "${only[@]}"; do [ "$name" = "$1" ] && return 0; done
  return 1
}

"$here/compile_cases.sh" "$work/cases.binpb"
# With an evidence store and profiles of its own: what clients report must not depend on this machine.
start_server s --listen=127.0.0.1:0 --http_listen= --drain_delay=0s --evidence_store="sqlite:$work/evidence.db" --profile_dir=
address="$(served s listen)"

# What a runner prints goes to $work/NAME; its exit code to $work/NAME.code.
run() {
  local name="$1" code=0
  shift
  "$@" --cases "$work/cases.binpb" --server "$address" >"$work/$name" 2>"$work/$name.err" || code=$?
  echo "$code" >"$work/$name.code"
  names+=("$name")
}
names=()
export LC_ALL=C.UTF-8  # the terminal program writes what its terminal can show
run cpp "$build/bin/conformance_runner"
wanted cli && run cli "$build/bin/conformance_runner" --program "$build/bin/flightplan"
for script in "$root"/clients/*/conformance.sh; do
  [ -x "$script" ] || continue
  name="$(basename "$(dirname "$script")")"
  wanted "$name" || continue
  run "$name" "$script"
  [ "$name" != python ] || run python-async "$script" --async
done
for name in "${only[@]}"; do
  [ -e "$work/$name" ] || { echo "no such client: $name" >&2; exit 2; }
done

# Cases of a client whose answer is another than the C++ stubs'. A runner prints "-" where it saw none.
differing() {
  awk 'NR == FNR { if ($1 == "ok") seen[$2] = $3; next }
       $1 == "ok" && $3 != "-" && ($2 in seen) && seen[$2] != $3 { print $2 }' "$work/cpp" "$work/$1"
}

bad=0
table="$(printf '%-12s %7s %7s %14s %10s' client passed failed "not in client" differing)"
for name in "${names[@]}"; do
  code="$(cat "$work/$name.code")"
  if [ "$code" = 77 ]; then
    table+=$'\n'"$(printf '%-12s %s' "$name" "$(tail -n 1 "$work/$name")")"
    continue
  fi
  read -r passed failed skipped < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed\(, \([0-9]*\) skipped\)\{0,1\}$/\1 \2 \4/p' "$work/$name" | tail -n 1) || true
  different="$(differing "$name")"
  count="$(printf '%s' "$different" | grep -c . || true)"
  table+=$'\n'"$(printf '%-12s %7s %7s %14s %10s' "$name" "${passed:-none}" "${failed:-?}" "${skipped:-0}" "$count")"
  if [ "$code" != 0 ] || [ -z "${passed:-}" ] || [ "$passed" = 0 ] || [ "$count" != 0 ]; then
    bad=1
    printf -- '-- %s ended with %s\n' "$name" "$code"
    grep '^FAILED' "$work/$name" || true
    [ -z "$different" ] || printf 'another answer than the C++ stubs: %s\n' $different
    tail -n 20 "$work/$name.err"
  fi
done
printf '%s\n' "$table"
exit "$bad"
