#!/usr/bin/env bash
# The Debian package of a build.
# usage: deploy/debian/build.sh [BUILD [FOLDER]]      default: build/release, and the package into BUILD/package
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build="${1:-build/release}"
folder="${2:-$build/package}"
[ -x "$build/bin/flightplan" ] || { echo "package: no program in $build/bin: cmake --preset release && cmake --build $build --target flightplan" >&2; exit 1; }
[ -f "$build/CPackConfig.cmake" ] || { echo "package: $build was built without the server, which the package is made for" >&2; exit 1; }
command -v dpkg-shlibdeps >/dev/null || { echo "package: dpkg-dev is not installed: apt-get install dpkg-dev" >&2; exit 1; }
mkdir -p "$folder"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" cpack --config "$build/CPackConfig.cmake" -B "$folder" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
rm -rf "$folder/_CPack_Packages"
ls "$folder"/flightplan_*.deb
