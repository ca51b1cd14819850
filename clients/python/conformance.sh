#!/usr/bin/env bash
# The conformance runner, blocking or with --async. usage: conformance.sh --cases FILE --server HOST:PORT [--async]
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
python="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/clients/python/bin/python"
[ -x "$python" ] || { echo "skipped: needs its packages (deploy/setup_clients.sh python)"; exit 77; }
PYTHONPATH="$here/src" PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/tests/conformance/runner.py" "$@"
