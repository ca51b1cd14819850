#!/usr/bin/env bash
# Types, the extension without an editor, and the package as it is installed. usage: test.sh FLIGHTPLAN_BINARY
set -euo pipefail
FLIGHTPLAN_BINARY="$(realpath "$1")"
export FLIGHTPLAN_BINARY
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v node >/dev/null || { echo "skipped: needs node >= 18 (nodejs)"; exit 77; }
[ -x node_modules/.bin/vsce ] || { echo "skipped: needs its packages (deploy/setup_clients.sh vscode)"; exit 77; }
node_modules/.bin/tsc
node --test test
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp -r package.json package-lock.json README.md .vscodeignore dist node_modules ../../LICENSE "$work/"
# It is compiled, and vsce runs what the manifest says before it packs.
sed -i '/vscode:prepublish/d' "$work/package.json"
(cd "$work" && node_modules/.bin/vsce package --allow-missing-repository --out flightplan.vsix >vsce.log 2>&1) || { cat "$work/vsce.log" >&2; exit 1; }
listed="$(python3 -m zipfile -l "$work/flightplan.vsix")"
for file in extension/package.json extension/dist/extension.js extension/node_modules/vscode-languageclient/node.js; do
  grep -q "^$file " <<<"$listed" || { echo "the package lacks $file" >&2; exit 1; }
done
# What is packed loads with nothing beside it but the editor.
python3 -m zipfile -e "$work/flightplan.vsix" "$work/installed"
grep -q "^extension/node_modules/typescript" <<<"$listed" && { echo "the package carries its tools" >&2; exit 1; }
echo "vscode: fine, $(wc -c <"$work/flightplan.vsix") bytes, node $(node --version)"
