#!/usr/bin/env bash
# Everything that needs a GPU, in three calls of less than nine minutes each:
#   correct   builds, and holds every kernel against its reference, a process for every group, so that one that breaks
#             costs the others nothing
#   measure   three profiles of the default budget and their spread, all groups without a hurry, hardware queues 1, 8 and
#             32, the table against the peers, and the clock against the profiler's
#   sanitize  compute-sanitizer: memcheck, racecheck, synccheck
#   team      with two GPUs or more: exchanges between all of them against what was sent, three profiles and their spread
# The most valuable comes first, every step has a limit, and what is there so far is in $OUT after every step, so that a
# call that is cut short has not been for nothing.
#
# Needs no network and nothing beside this tree: nvcc (probe/cuda.cmake says where it looks), cmake and a C++20 compiler;
# or PROBE_BIN, a worker that is already built. PyTorch, Triton, ncu and compute-sanitizer are used where they are.
# $OUT (default: build/verify/PART) gets log.txt and rest.tar.gz, of measure also profile.json, samples.json and goals.json.
# VERIFY_SECONDS (default 530) is the limit on the call. --dry-run replays a made-up device in place of a GPU, to test
# this script: its figures mean nothing.
# Exit code: 0 done, goals missed or not, which goals.json says; 1 something is broken or wrong; 77 no GPU, or too few.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() { echo "usage: probe/verify.sh correct|measure|sanitize|team [--dry-run]" >&2; exit 2; }
part="${1:-}" dry=false
case "$part" in correct | measure | sanitize | team) ;; *) usage ;; esac
case "${2:-}" in "") ;; --dry-run) dry=true ;; *) usage ;; esac
out="${OUT:-$PWD/build/verify/$part}"
build="${PROBE_BUILD:-$PWD/build/probe}"
limit="${VERIFY_SECONDS:-530}"
if ! $dry && ! ldconfig -p 2>/dev/null | grep 'libcuda\.so\.1' >/dev/null && [ ! -e /dev/nvidiactl ] &&
  ! nvidia-smi -L >/dev/null 2>&1; then
  echo "skipped: no GPU"
  exit 77
fi
if [ "$part" = team ] && ! $dry && [ "$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')" -lt 2 ]; then
  echo "skipped: needs two GPUs"
  exit 77
fi
work="$(mktemp -d)"
broken=()  # what did not do its work, or found a fault
trap 'save; rm -rf "$work"' EXIT
mkdir -p "$out"
exec > >(tee "$out/log.txt") 2>&1

save() { # few files: a place that collects results may take only so many
  cp "$work/profile.json" "$work/samples.json" "$work/goals.json" "$out/" 2>/dev/null
  tar -czf "$out/rest.tar.gz" -C "$work" . 2>/dev/null
}
step() { save; printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }
# SECONDS COMMAND...: under its own limit and what is left of the whole; 124 when that ended it.
within() {
  local seconds="$1" left=$((limit - SECONDS)); shift
  [ "$left" -gt 3 ] || { echo "skipped: no time is left"; return 124; }
  [ "$left" -ge "$seconds" ] || seconds=$left
  timeout --kill-after=5 "$seconds" "$@"
}
fake=() check=(--check) once=(--once)
if $dry; then fake=(--fake probe/testdata/synthetic.json) check=("${fake[@]}") once=("${fake[@]}"); fi  # which has no kernels
# SECONDS BUDGET NAME OPTIONS...: one run of the worker; its lines go to NAME.jsonl, its profile to NAME.json.
probe_run() {
  local seconds="$1" budget="$2" name="$3" code=0; shift 3
  within "$seconds" "$probe" "${fake[@]}" --budget-seconds "$budget" "$@" >"$work/$name.jsonl" || code=$?
  [ "$code" = 0 ] || echo "exit code $code"
  python3 probe/verify_peers.py --profile "$work/$name.jsonl" "$work/$name.json"
}

step "the machine"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw,memory.used --format=csv 2>/dev/null || true
nvcc --version 2>/dev/null | tail -2 || true
g++ --version 2>/dev/null | head -1 || true

step "build"
probe="${PROBE_BIN:-$build/bin/flightplan-probe}"
if [ -n "${PROBE_BIN:-}" ]; then
  echo "as built: $probe"
else
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d .)
  [ "$architecture" != 90 ] || architecture=90a
  generator=()
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  within 60 cmake -S probe -B "$build" "${generator[@]}" ${architecture:+"-DFLIGHTPLAN_CUDA_ARCHITECTURES=$architecture"} &&
    within 240 cmake --build "$build" -j "$(nproc)" || { echo "the worker was not built"; exit 1; }
fi
# cuBLASLt also comes with PyTorch.
for python_lib in $(python3 -c 'import glob, site
for d in site.getsitepackages() + [site.getusersitepackages()]: print(*glob.glob(d + "/nvidia/*/lib"), sep="\n")' 2>/dev/null); do
  LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}${LD_LIBRARY_PATH:+:}$python_lib"
done
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}"

correct() {
  local group code
  for group in ceilings dispatch experts exchange overlap launch memory; do
    step "every kernel of $group against its reference"
    code=0
    within 90 "$probe" "${check[@]}" --groups "$group" --budget-seconds 80 >"$work/check_$group.jsonl" || code=$?
    grep -hoE '"(message|notes)":.*' "$work/check_$group.jsonl" | head -20
    [ "$code" = 0 ] && echo "right" || { echo "exit code $code (9: a wrong output; 7 or 124: out of time)"; broken+=("$group"); }
  done
}

measure() {
  local run connections code
  for run in 1 2 3; do
    step "default profile, $run of 3: 20 s, 2 GiB"
    probe_run 45 20 "run$run" || broken+=("profile $run")
    [ "$run" != 1 ] || cp "$work/run1.json" "$work/profile.json"
  done
  step "every group, without a hurry"
  probe_run 130 85 long --record "$work/samples.json" && cp "$work/long.json" "$work/profile.json"
  grep -q 'is withheld' "$work/profile.json" && { echo "WRONG: rows were withheld, see the notes"; broken+=(withheld); }
  step "hardware queues, one process each"
  for connections in 1 8 32; do
    probe_run 12 5 "queues$connections" --groups overlap --connections "$connections"
  done
  step "rows, peers and goals"
  code=0
  within 150 python3 probe/verify_peers.py "$work/profile.json" "$work/goals.json" "$work"/run[123].json || code=$?
  case "$code" in
    0) outcome="every goal was met" ;;
    2) outcome="goals were missed, as goals.json says" ;;
    *) outcome="the comparison broke (exit code $code): which goals are met is not known"; broken+=(comparison) ;;
  esac
  profiler
}

profiler() {
  local ncu
  step "timing against the profiler's clock"
  if ! ncu=$(command -v ncu); then echo "skipped: ncu is not installed"; return; fi
  within 60 "$ncu" --clock-control none --cache-control none --metrics gpu__time_duration.sum --csv --launch-count 400 \
    --kernel-name 'regex:PermuteKernel|CombineGradKernel|MoveRowsKernel|TopkKernel|SwigluKernel|SwigluGradKernel|NormKernel|EmptyKernel' \
    "$probe" "${once[@]}" --groups ceilings,dispatch,experts --budget-seconds 40 >"$work/ncu.csv" 2>"$work/ncu.log" ||
    echo "exit code $?, see ncu.log"
  python3 probe/verify_peers.py --timing "$work/profile.json" "$work/ncu.csv"
}

sanitize() {
  local sanitizer tool code
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  if [ -z "$sanitizer" ]; then echo "skipped: compute-sanitizer is not installed"; outcome="nothing was looked at"; return; fi
  for tool in memcheck racecheck synccheck; do
    step "compute-sanitizer $tool"
    code=0
    within 140 "$sanitizer" --tool "$tool" --error-exitcode 33 "$probe" "${check[@]}" --budget-seconds 100 \
      >"$work/$tool.log" 2>&1 || code=$?
    grep -E '(ERROR|RACECHECK|SYNCCHECK) SUMMARY' "$work/$tool.log"
    grep -q 'the budget ended' "$work/$tool.log" && { echo "INCOMPLETE: not every kernel ran in time, see $tool.log"; code=7; }
    [ "$code" = 0 ] && echo "clean" || { echo "exit code $code (33: faults; 9: a wrong output; 7 or 124: out of time), see $tool.log"; broken+=("$tool"); }
  done
}

# Not under compute-sanitizer, which may run one kernel after the other where these wait for each other.
team() {
  local group run code devices=(--devices all)
  ! $dry || devices=()
  for group in exchange overlap; do
    step "$group between all GPUs against what was sent"
    code=0
    within 120 "$probe" "${check[@]}" "${devices[@]}" --groups "$group" --budget-seconds 100 >"$work/check_$group.jsonl" || code=$?
    grep -hoE '"(message|notes)":.*' "$work/check_$group.jsonl" | head -20
    [ "$code" = 0 ] && echo "right" || { echo "exit code $code (9: a wrong output; 7 or 124: out of time)"; broken+=("$group"); }
  done
  for run in 1 2 3; do
    step "exchanges and compute beside them, $run of 3"
    probe_run 75 45 "team$run" "${devices[@]}" --groups exchange,overlap || broken+=("profile $run")
    [ "$run" != 1 ] || cp "$work/team1.json" "$work/profile.json"
  done
  grep -q 'is withheld' "$work/profile.json" && { echo "WRONG: rows were withheld, see the notes"; broken+=(withheld); }
  code=0
  python3 probe/verify_peers.py --team "$work"/team[123].json || code=$?
  case "$code" in
    0) ;;
    2) outcome="runs differ by more than they should, as told above" ;;
    *) outcome="the comparison broke (exit code $code)"; broken+=(comparison) ;;
  esac
}

outcome="nothing is wrong"
"$part"
step "done: ${broken[*]:+BROKEN OR WRONG: ${broken[*]}; }$outcome; results in $out"
[ "${#broken[@]}" = 0 ]
