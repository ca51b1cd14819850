#!/usr/bin/env bash
# Encodes all cases into the one file that every runner reads. usage: compile_cases.sh OUTPUT
set -euo pipefail
output="$(realpath -m "$1")"
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p "$(dirname "$output")"

duplicates="$(sed -n 's/^  name: "\(.*\)"$/\1/p' cases/*.textproto | sort | uniq -d)"
[ -z "$duplicates" ] || { echo "two cases have one name: $duplicates" >&2; exit 1; }
for file in cases/*.textproto; do  # one by one first, so that a mistake is named with its file
  protoc -I../.. -I../../proto --encode=flightplan.conformance.CaseSet tests/conformance/conformance.proto <"$file" >/dev/null ||
    { echo "in $file" >&2; exit 1; }
done
cat cases/*.textproto |
  protoc -I../.. -I../../proto --encode=flightplan.conformance.CaseSet tests/conformance/conformance.proto >"$output.new"
mv "$output.new" "$output"
