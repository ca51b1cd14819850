#!/usr/bin/env bash
# Compiles and packs a wheel on this machine or in the root where it runs, which is Debian 12 and has what setup.sh
# installs; deploy/wheel/build.sh calls it there. The program is optimised and has the libraries of others in itself, from
# archives, so that it needs the C library alone.
# usage: build_here.sh ARCH BUILD_FOLDER    prints the wheel's name; it lies in BUILD_FOLDER/dist
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# shellcheck source=deploy/wheel/lib.sh
source "$root/deploy/wheel/lib.sh"
# shellcheck source=deploy/progress.sh
source "$root/deploy/progress.sh"
arch="${1:?usage: build_here.sh x86_64|aarch64 BUILD_FOLDER}"
build="${2:?usage: build_here.sh x86_64|aarch64 BUILD_FOLDER}"

cross=()
triplet=""
if [ "$arch" != "$(uname -m)" ]; then
  triplet="$arch-linux-gnu"
  cross=("-DCMAKE_TOOLCHAIN_FILE=$root/deploy/wheel/$arch.cmake")
fi

step "prometheus-cpp as an archive"
"$root/deploy/wheel/static_libraries.sh" "$build/static" "$triplet"

# -Os, and -O2 where the time goes: a tenth less than with -O2 for the rest. -O3 for that would take 0.18 MB more, and a plan
# 0.35 s instead of 0.36 s (medians of five). gold folds functions that are the same and whose addresses nobody compares: packed, the program has
# 9.38 MB instead of 9.69 by mold and 9.48 by GNU ld. Functions and data each have a section, which it folds or leaves out
# where nobody refers to it: the wheel has 9.90 MB instead of 10.07.
step "configuring"
cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-Os -DNDEBUG -ffunction-sections -fdata-sections" \
  -DFLIGHTPLAN_SEARCH_FLAGS=-O2 -DCMAKE_PREFIX_PATH="$build/static" -DFLIGHTPLAN_STATIC=ON -DFLIGHTPLAN_CUDA=OFF \
  -DMOLD=OFF -DCMAKE_EXE_LINKER_FLAGS="-fuse-ld=gold -Wl,--icf=safe -Wl,--gc-sections" "${cross[@]}" >"$build/configure.log" 2>&1 ||
  fail "CMake cannot configure: $(grep -m 1 "No package" "$build/configure.log" || grep -A 1 "CMake Error" "$build/configure.log" | tail -n 1) (${build#"$root"/}/configure.log)"

step "compiling (10 minutes on two cores; one with what the compiler cache has)"
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
cmake --build "$build" --target flightplan ${WHEEL_JOBS:+-j "$WHEEL_JOBS"} | every_tenth >&2 || fail "the program does not compile (above: why)"
"${triplet:+$triplet-}strip" --strip-all -o "$build/flightplan" "$build/bin/flightplan"

step "packing"
/usr/bin/python3 "$root/deploy/third_party_notices.py" wheel "$build/THIRD_PARTY_NOTICES.txt" >&2
/usr/bin/python3 "$root/deploy/sbom.py" --check wheel "$build" >&2 || fail "the table of libraries is not what is linked (above: why)"
/usr/bin/python3 "$root/deploy/sbom.py" wheel "$build/flightplan" "$build/flightplan.cdx.json" >&2
wheel="$(/usr/bin/python3 "$root/deploy/wheel/pack.py" "$build/flightplan" "$build/THIRD_PARTY_NOTICES.txt" "$build/flightplan.cdx.json" "$build/dist")"
# The same format by zopfli: 3.5 % less than Python's own (9.99 instead of 10.34 MB; 7-Zip's packer: 10.00), which pip reads
# as any other. Ten rounds instead of three save another 1 kB.
advzip -z -4 -i 3 -q "$wheel" >&2 || fail "advzip cannot pack the wheel again"
if ! /usr/bin/python3 "$root/deploy/wheel/check_wheel.py" "$wheel" "$root" >&2; then
  rm -f "$wheel"
  fail "the wheel is not as it should be (above: why)"
fi
basename "$wheel"
