#!/usr/bin/env bash
# Packs the extension: flightplan-VERSION.vsix in this folder. Needs what deploy/setup_clients.sh vscode brings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
[ -x node_modules/.bin/vsce ] || { echo "package.sh: run deploy/setup_clients.sh vscode first" >&2; exit 1; }
cp ../../LICENSE .
trap 'rm -f LICENSE' EXIT
node_modules/.bin/vsce package --allow-missing-repository
