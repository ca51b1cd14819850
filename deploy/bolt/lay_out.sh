#!/usr/bin/env bash
# lay_out.sh BOLT PROGRAM PROFILE [TRAINING COMMAND]: lays PROGRAM out, in place, by what PROFILE counted. With a training
# command, which gets a program as its last argument and prints what it answered, the profile is made first, and the
# program is kept only where it answers, laid out, to the byte what it answered before.
set -euo pipefail
bolt="$1" program="$2" profile="$3"
shift 3
log="$(mktemp)"
trap 'rm -f "$log" "$program.counting" "$program.laid"' EXIT
# run WHAT COMMAND...: its output is shown where it fails.
run() {
  local what="$1"
  shift
  "$@" >"$log" 2>&1 || { grep -vE '^BOLT-(INFO|WARNING)' "$log" | tail -n 5 >&2; echo "bolt: $what failed (above)" >&2; exit 1; }
}

# Our own functions alone: with gRPC's among them the program crashed as a client.
ours="-funcs=.*10flightplan.*"
before=""
if [ $# != 0 ]; then
  before="$("$@" "$program")"
  rm -f "$profile"
  run "counting in $program" "$bolt" "$program" "$ours" -instrument -o "$program.counting" -instrumentation-file="$profile"
  run "training" "$@" "$program.counting"
fi
[ -s "$profile" ] || { echo "bolt: there is no $profile: build the program that counts first" >&2; exit 1; }
# Identical functions stay apart, since bolt folds them without asking whether addresses are compared. Symbols go here:
# strip breaks what bolt wrote.
run "laying out $program" "$bolt" "$program" -o "$program.laid" -data="$profile" "$ours" -reorder-blocks=ext-tsp \
  -reorder-functions=hfsort+ -split-functions -split-all-cold -remove-symtab
if [ -n "$before" ]; then
  after="$("$@" "$program.laid")"
  [ "$before" = "$after" ] || { echo "bolt: laid out, the program answers otherwise: $before before, $after after" >&2; exit 1; }
  echo "bolt: $after, before and after" >&2
fi
mv "$program.laid" "$program"
