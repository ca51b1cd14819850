#!/usr/bin/env bash
# probe/verify.sh without a GPU: every step that does not need one runs on a made-up device, so that the one call on a
# machine with a GPU is not spent on a slip of the script. usage: verify_test.sh WORKER
set -euo pipefail
worker="$(realpath "$1")"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; cat "$work/out/log.txt" >&2 2>/dev/null || true; exit 1; }

OUT="$work/out" PROBE_BIN="$worker" "$here/verify.sh" measure --dry-run >"$work/printed" || fail "the dry run ended with $?"
for file in log.txt profile.json samples.json goals.json rest.tar.gz; do
  [ -s "$work/out/$file" ] || fail "$file is missing"
done
[ "$(ls "$work/out" | wc -l)" = 5 ] || fail "more files than are told"
for text in 'permute.fwd / hbm.copy' 'q.repeat median' 'goals met' '== done: every goal was met'; do
  grep -q "$text" "$work/printed" || fail "it does not print: $text"
done
! grep -qiE 'traceback|no such file|command not found|syntax error|unbound variable' "$work/printed" || fail "a step is broken"

# The parts without figures.
for part in correct sanitize team; do
  mkdir "$work/$part"
  printf '#!/bin/sh\nshift 4\nexec "$@"\n' >"$work/$part/compute-sanitizer"
  chmod +x "$work/$part/compute-sanitizer"
  PATH="$work/$part:$PATH" OUT="$work/$part/out" PROBE_BIN="$worker" "$here/verify.sh" "$part" --dry-run >"$work/printed" ||
    { cat "$work/printed" >&2; fail "$part ended with $?"; }
  [ "$part" != sanitize ] || cp "$work/printed" "$work/sanitized"
  grep -q '== done: nothing is wrong' "$work/printed" || fail "$part does not say that nothing is wrong"
done
for tool in memcheck racecheck synccheck; do grep -q "compute-sanitizer $tool" "$work/sanitized" || fail "no $tool"; done
grep -q 'q.repeat median' "$work/printed" || fail "the runs of a team are not compared"
code=0
printf '#!/bin/sh\nexit 33\n' >"$work/sanitize/compute-sanitizer"
PATH="$work/sanitize:$PATH" OUT="$work/sanitize/out" PROBE_BIN="$worker" "$here/verify.sh" sanitize --dry-run >"$work/printed" || code=$?
[ "$code" = 1 ] && grep -q 'WRONG: memcheck racecheck synccheck' "$work/printed" || fail "faults that were found are not told"

# A comparison that breaks is no missed goal.
echo '{"rows": [{"id": "hbm.copy", "labels": {}, "parameters": {}}]}' >"$work/odd.json"
code=0
python3 "$here/verify_peers.py" "$work/odd.json" "$work/goals" "$work/odd.json" "$work/odd.json" >"$work/printed" || code=$?
[ "$code" = 3 ] && grep -q 'BROKEN: rows of one profile' "$work/printed" || fail "a broken comparison ends with $code"

# What stands in for ncu: three kernels, twice each, and the lines that a program prints in between.
cat >"$work/ncu.csv" <<'CSV'
==PROF== Connected to process 7 (flightplan-probe)
{"row": {}}
"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","7","flightplan::probe::(anonymous namespace)::NormKernel(const uint4 *, const float *, int, uint4 *)","gpu__time_duration.sum","ns","8,100"
"1","7","NormKernel","gpu__time_duration.sum","us","8.1"
"2","7","void flightplan::probe::CombineGradKernel<8>(const uint4 *)","gpu__time_duration.sum","ms","0.09"
CSV
python3 "$here/verify_peers.py" --timing "$work/out/profile.json" "$work/ncu.csv" >"$work/timing" || true
grep -q 'norm.fwd .* 8.100 us of *2 launches' "$work/timing" || { cat "$work/timing" >&2; fail "the profiler's table is read wrongly"; }
grep -q 'q.timing median' "$work/timing" || fail "no verdict on timing"

# A worker that died: no profile, but its rows are told.
printf '%s\n' '{"device": {}}' '{"row": {}}' '{"ro' >"$work/dead.jsonl"
! python3 "$here/verify_peers.py" --profile "$work/dead.jsonl" "$work/x.json" >"$work/dead" || fail "a dead worker has a profile"
grep -q 'no profile; 1 rows' "$work/dead" || fail "the rows of a dead worker are not told"

# A whole limit that is over: every step is left out, and the call ends by itself.
OUT="$work/short" PROBE_BIN="$worker" VERIFY_SECONDS=0 "$here/verify.sh" measure --dry-run >"$work/printed" && fail "nothing was done, and nothing is broken"
grep -q 'no time is left' "$work/printed" || fail "the limit does not hold"
echo "ok"
