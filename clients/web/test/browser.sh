#!/usr/bin/env bash
# The page in Chromium against a real server: every view opened, used and photographed. usage: browser.sh FLIGHTPLAN_BINARY
# Pictures go to $FLIGHTPLAN_PICTURES; unset: nowhere.
set -euo pipefail
FLIGHTPLAN="$(realpath "$1")"
export FLIGHTPLAN
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v node >/dev/null || { echo "skipped: needs node >= 18 (nodejs)"; exit 77; }
command -v chromium >/dev/null || { echo "skipped: no chromium (deploy/setup_clients.sh browser)"; exit 77; }
[ -d node_modules/playwright-core ] || { echo "skipped: needs its packages (deploy/setup_clients.sh web)"; exit 77; }
"$FLIGHTPLAN" serve --help | grep -q -- --web_listen || { echo "skipped: this flightplan has no --web_listen"; exit 77; }
exec node --test --test-concurrency=1 test/browser/*.test.mjs
