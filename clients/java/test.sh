#!/usr/bin/env bash
# The jar with its unit tests, and the example against a real server. usage: test.sh FLIGHTPLAN_BINARY
set -euo pipefail
flightplan="$(realpath "$1")"
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v mvn >/dev/null || { echo "skipped: needs maven and a JDK >= 11 (maven, default-jdk-headless)"; exit 77; }
cmp ../service_config.json src/main/resources/flightplan/service_config.json
./build.sh
../with_server.sh "$flightplan" java -cp "target/classes:target/test-classes:target/lib/*" flightplan.PlanExample |
  grep -qx -- --expert-model-parallel-size || { echo "the example prints no launch" >&2; exit 1; }
echo "java: fine, $(java -version 2>&1 | head -n 1)"
