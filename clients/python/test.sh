#!/usr/bin/env bash
# Lint, types, tests against a real server, and the wheel as a user installs it. usage: test.sh FLIGHTPLAN_BINARY
set -euo pipefail
FLIGHTPLAN_BINARY="$(realpath "$1")"
export FLIGHTPLAN_BINARY PYTHONDONTWRITEBYTECODE=1
cd "$(dirname "${BASH_SOURCE[0]}")"
tools="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/clients"
bin="$tools/python/bin"
[ -x "$bin/python" ] || { echo "skipped: needs its packages (deploy/setup_clients.sh python)"; exit 77; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

cmp ../service_config.json src/flightplan/service_config.json
cmp ../web/dist-report/report.html src/flightplan/report.html
"$bin/ruff" check --no-cache .
"$bin/ruff" format --no-cache --check .
"$bin/mypy" --cache-dir "$work/mypy"
# grpcio 1.74 dies now and then in a thread of its own while Python waits (3 of some 130 runs, all under load). All that is
# ours here is Python, which cannot: a run that a signal ends is done once more, and says so.
unit_tests() { PYTHONPATH=src "$bin/pytest" -q -p no:cacheprovider --ignore tests/test_integrations.py; }
code=0
unit_tests || code=$?
if [ "$code" -eq 139 ]; then
  echo "gRPC's library ended the tests with a segmentation fault; once more" >&2
  code=0
  unit_tests || code=$?
fi
[ "$code" -eq 0 ] || exit "$code"

cp -r pyproject.toml README.md src "$work/"
"$bin/pip" wheel -q --no-deps --no-build-isolation --no-index -w "$work/dist" "$work"
"$bin/pip" install -q --no-deps --no-index --target "$work/site" "$work"/dist/*.whl
for file in py.typed report.html service_config.json v1/resolver_service_pb2.pyi integrations/nemo_run.py; do
  [ -e "$work/site/flightplan/$file" ] || { echo "the wheel lacks flightplan/$file" >&2; exit 1; }
done
(cd "$work" && PYTHONPATH="$work/site" "$bin/python" -c 'import flightplan; flightplan.Client("127.0.0.1:1").close()')

if [ -x "$tools/python-integrations/bin/python" ]; then
  PYTHONPATH=src "$tools/python-integrations/bin/python" -m pytest -q -rs -p no:cacheprovider tests/test_integrations.py
else
  echo "NeMo-Run and SkyPilot plugins not tested: deploy/setup_clients.sh integrations"
fi
