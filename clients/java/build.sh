#!/usr/bin/env bash
# Builds and unit-tests the jar without the network, where something changed since the last time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
stamp="target/built"
if [ -e "$stamp" ] && [ -z "$(find pom.xml src -newer "$stamp" -print -quit)" ]; then exit 0; fi
mvn -o -q -B package dependency:copy-dependencies -DincludeScope=test -DoutputDirectory=target/lib >target.log 2>&1 || {
  grep -q 'offline' target.log && { rm target.log; echo "skipped: needs its packages (deploy/setup_clients.sh java)"; exit 77; }
  cat target.log >&2
  rm target.log
  exit 1
}
rm target.log
touch "$stamp"
