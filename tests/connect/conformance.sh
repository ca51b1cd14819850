#!/usr/bin/env bash
# Runs the public conformance suite of the Connect protocol against our server of its service, and prints its count.
# usage: conformance.sh SUITE_FOLDER SERVER
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
suite="$1/connectconformance" server="${2:-}"
[ -x "$suite" ] || { echo "skipped: no conformance suite of the Connect protocol: deploy/setup_clients.sh connect"; exit 77; }
[ -x "$server" ] || { echo "skipped: connect_conformance_server is not built: configure again after deploy/setup_clients.sh connect"; exit 77; }
"$suite" --conf "$here/conformance.yaml" --mode server -- "$server"
