#!/usr/bin/env bash
# Types, unit tests, the example against a real server, and the package as npm packs it. usage: test.sh FLIGHTPLAN_BINARY
set -euo pipefail
flightplan="$(realpath "$1")"
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v node >/dev/null || { echo "skipped: needs node >= 18 (nodejs)"; exit 77; }
[ -x node_modules/.bin/tsc ] || { echo "skipped: needs its packages (deploy/setup_clients.sh typescript)"; exit 77; }

cmp ../service_config.json src/service_config.json
node_modules/.bin/tsc --incremental --tsBuildInfoFile dist/.tsbuildinfo
node --test dist/test/client.test.js
../with_server.sh "$flightplan" node dist/example/plan.js | grep -x -- --expert-model-parallel-size >/dev/null || { echo "the example prints no launch" >&2; exit 1; }
packed="$(npm pack --dry-run --ignore-scripts 2>&1)"
grep -q 'dist/src/index.d.ts' <<<"$packed" || { echo "the package lacks its types" >&2; exit 1; }
echo "typescript: fine, node $(node --version)"
