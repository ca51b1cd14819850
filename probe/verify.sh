#!/usr/bin/env bash
# Everything that needs a GPU, in one call of less than ten minutes: builds, checks every kernel against its reference,
# runs the probe twice and its peers, prints the table row by row, and looks for memory faults and races.
# Results go to $OUT (default: build/verify). PROBE_BIN names a worker that is already built; without it this needs nvcc
# (probe/cuda.cmake says where it looks), cmake and a C++20 compiler. PyTorch, Triton and compute-sanitizer are used where
# they are installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out="${OUT:-$PWD/build/verify}"
build="${PROBE_BUILD:-$PWD/build/probe}"
mkdir -p "$out"
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' && [ ! -e /dev/nvidiactl ]; then
  echo "skipped: no GPU"
  exit 77
fi

step() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

step "build"
probe="${PROBE_BIN:-$build/bin/flightplan-probe}"
if [ -n "${PROBE_BIN:-}" ]; then
  echo "as built: $probe"
else
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d .)
  [ "$architecture" != 90 ] || architecture=90a
  generator=()
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  cmake -S probe -B "$build" "${generator[@]}" ${architecture:+"-DFLIGHTPLAN_CUDA_ARCHITECTURES=$architecture"}
  cmake --build "$build" -j "$(nproc)"
fi
# cuBLASLt also comes with PyTorch.
for python_lib in $(python3 -c 'import glob, site
for d in site.getsitepackages() + [site.getusersitepackages()]: print(*glob.glob(d + "/nvidia/*/lib"), sep="\n")' 2>/dev/null); do
  LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}${LD_LIBRARY_PATH:+:}$python_lib"
done
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}"

last_line() { # the profile of a run, or its error
  python3 - "$1" "$2" <<'EOF'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
profile = next((line["profile"] for line in lines if "profile" in line), None)
error = next((line["error"] for line in lines if "error" in line), None)
if error: print("error:", error["code"], error["message"])
if profile is None: sys.exit("no profile")
json.dump(profile, open(sys.argv[2], "w"), indent=1)
rows = profile["rows"]
print(f"{len(rows)} rows, {sum(r['checked'] for r in rows)} checked, {profile['duration_us'] / 1e6:.1f} s,",
      "partial" if profile["partial"] else "whole", profile["conditions"])
for note in profile["notes"]: print("  note:", note)
EOF
}

step "correctness: every group, without a hurry"
"$probe" --budget-seconds 90 --record "$out/samples.json" >"$out/long.jsonl" || echo "exit code $?"
last_line "$out/long.jsonl" "$out/profile.json" || true
if grep -q 'is withheld' "$out/profile.json"; then echo "WRONG: rows were withheld, see the notes"; fi

step "default profile, twice"
for run in 1 2; do
  "$probe" >"$out/run$run.jsonl" || echo "exit code $?"
  last_line "$out/run$run.jsonl" "$out/run$run.json" || true
done

step "hardware queues, one process each"
for connections in 1 32; do
  CUDA_DEVICE_MAX_CONNECTIONS=$connections "$probe" --groups overlap --budget-seconds 4 >"$out/queues$connections.jsonl" ||
    echo "exit code $?"
  grep -o '"row":{"id":"corun.queues".*"unit"' "$out/queues$connections.jsonl" || true
done

step "rows, peers and goals"
missed=0
python3 probe/verify_peers.py "$out/profile.json" "$out/run1.json" "$out/goals.json" || missed=$?
python3 - "$out/run1.json" "$out/run2.json" <<'EOF'
import json, sys
sys.path.insert(0, "probe")
import verify_peers
verify_peers.repeat(*(verify_peers.rows_of(path) for path in sys.argv[1:3]))
EOF

step "compute-sanitizer"
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
if [ -z "$sanitizer" ]; then
  echo "skipped: compute-sanitizer is not installed"
else
  for tool in memcheck racecheck; do
    echo "-- $tool"
    timeout 110 "$sanitizer" --tool "$tool" --error-exitcode 33 "$probe" --check --budget-seconds 70 >"$out/$tool.log" 2>&1 &&
      echo "clean" || echo "exit code $? (33: faults; 9: a wrong output; 7 or 124: out of time), see $tool.log"
    grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$out/$tool.log" || true
  done
fi

step "done: $missed goals missed; profile in $out/profile.json"
