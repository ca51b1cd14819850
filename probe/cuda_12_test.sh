#!/usr/bin/env bash
# Builds the worker with the compiler of `probe/toolkit.sh --cuda-12`: every kernel compiles for Ampere and Hopper, and the
# worker starts. usage: cuda_12_test.sh BUILD_FOLDER
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="$1"
nvcc="$("$here/toolkit.sh" --cuda-12 --check)" || { echo "skipped: $nvcc; probe/toolkit.sh --cuda-12 fetches it"; exit 77; }
nvcc="${nvcc#toolkit: }"
cmake -S "$here" -B "$build" -G Ninja "-DFLIGHTPLAN_NVCC=$nvcc" >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
grep -q "CUDA by $nvcc" "$build.log" || { echo "not built with $nvcc:" >&2; cat "$build.log" >&2; exit 1; }
ninja -C "$build" flightplan-probe >"$build.log" 2>&1 || { tail -n 60 "$build.log" >&2; exit 1; }
find "$build/kernels" "$build/device" -name '*.cu.o' -print0 | xargs -0 python3 "$here/architectures_test.py" 80,90a
"$build/bin/flightplan-probe" --fake "$here/testdata/synthetic.json" --groups ceilings >"$build.log"
grep -q '^{"profile":' "$build.log" || { head -c 400 "$build.log" >&2; exit 1; }
echo "built with $nvcc: $(find "$build" -name '*.cu.o' | wc -l) CUDA objects for sm_80 and sm_90a"
