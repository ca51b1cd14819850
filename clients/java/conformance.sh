#!/usr/bin/env bash
# The conformance runner. usage: conformance.sh --cases FILE --server HOST:PORT
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v mvn >/dev/null || { echo "skipped: needs maven and a JDK >= 11 (maven, default-jdk-headless)"; exit 77; }
./build.sh
exec java -cp "target/classes:target/test-classes:target/lib/*" flightplan.conformance.Runner "$@"
