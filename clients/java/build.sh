#!/usr/bin/env bash
# Builds and unit-tests the jar without the network, where something changed since the last time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
stamp="target/built"
if [ -e "$stamp" ] && [ -z "$(find pom.xml src -newer "$stamp" -print -quit)" ]; then exit 0; fi
./check_repository.sh
mkdir -p target
mvn -o -q -B package dependency:copy-dependencies -DincludeScope=test -DoutputDirectory=target/lib >target/build.log 2>&1 || {
  grep -q 'offline' target/build.log && { rm target/build.log; echo "skipped: needs its packages (deploy/setup_clients.sh java)"; exit 77; }
  cat target/build.log >&2
  rm target/build.log
  exit 1
}
rm target/build.log
touch "$stamp"
