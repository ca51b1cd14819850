#!/usr/bin/env bash
# Writes the generated code of the clients: messages and stubs of the contract, and the conformance schema for their runners.
# It is committed, so that a user needs no protoc. The tools are those of deploy/setup.sh and deploy/setup_clients.sh.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tools="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/clients"
contract=("$root"/proto/flightplan/v1/*.proto)
rpc=("$root"/proto/google/rpc/*.proto)
cases="$root/tests/conformance/conformance.proto"

usage() {
  cat <<USAGE
usage: clients/generate.sh [--check] [CLIENT...]
  --check   write nothing; exit 1 where what is committed is not what the protos say today
Clients: those with a generate.sh of their own; default: all. One whose tools are missing is named; with --check and one
client the script then ends with 77.
USAGE
}

check=false
clients=()
for argument in "$@"; do
  case "$argument" in
    --check) check=true ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) clients+=("$argument") ;;
  esac
done
if [ ${#clients[@]} = 0 ]; then
  for script in "$root"/clients/*/generate.sh; do clients+=("$(basename "$(dirname "$script")")"); done
fi

# Each clients/NAME/generate.sh is sourced. It defines `folders`, relative to clients/NAME, which hold generated files
# alone, and `generate DIR`, which writes them below DIR; it calls `lacks TEXT` where it cannot.
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
lacks() { echo "skipped: needs $*"; exit 77; }

one() {
  local name="$1" folder
  source "$root/clients/$name/generate.sh"
  mkdir -p "$work/$name"
  generate "$work/$name"
  for folder in "${folders[@]}"; do
    if $check; then
      diff -r -x __pycache__ "$work/$name/$folder" "$root/clients/$name/$folder" ||
        { echo "clients/$name/$folder is stale: clients/generate.sh $name" >&2; exit 1; }
    else
      rm -rf "${root:?}/clients/$name/$folder"
      mkdir -p "$(dirname "$root/clients/$name/$folder")"
      cp -r "$work/$name/$folder" "$root/clients/$name/$folder"
    fi
  done
}

bad=0
for name in "${clients[@]}"; do
  code=0
  (set -e; one "$name") || code=$?
  case "$code" in
    0) $check && echo "$name: fresh" || echo "$name: written" ;;
    77) [ ${#clients[@]} != 1 ] || bad=77 ;;
    *) echo "$name: failed" >&2; bad=1 ;;
  esac
done
exit "$bad"
