#!/usr/bin/env bash
# The conformance runner. usage: conformance.sh --cases FILE --server HOST:PORT
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v node >/dev/null || { echo "skipped: needs node >= 18 (nodejs)"; exit 77; }
[ -x node_modules/.bin/tsc ] || { echo "skipped: needs its packages (deploy/setup_clients.sh typescript)"; exit 77; }
node_modules/.bin/tsc --incremental --tsBuildInfoFile dist/.tsbuildinfo
exec node dist/test/conformance.js "$@"
