#!/usr/bin/env bash
# Types, unit tests, budgets, and that the committed bundle is what the sources give. usage: test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v node >/dev/null || { echo "skipped: needs node >= 18 (nodejs)"; exit 77; }
node test/budget.mjs
[ -x node_modules/.bin/esbuild ] || { echo "skipped: needs its packages (deploy/setup_clients.sh web)"; exit 77; }

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
node_modules/.bin/tsc --noEmit
node_modules/.bin/esbuild test/unit/*.test.ts --bundle --platform=node --format=esm --outdir="$work/unit" --out-extension:.js=.mjs --log-level=warning
node --test "$work/unit"
node build.mjs "$work/dist"
for made in dist dist-report; do
  diff -r "$work/$made" "$made" >/dev/null || { echo "clients/web/$made is stale: npm run build" >&2; exit 1; }
done
# Names of XML's own are the only addresses in it.
foreign="$(grep -rohE '(https?:)?//[a-z0-9-]+(\.[a-z0-9-]+)+' dist dist-report --include='*.html' --include='*.css' --include='*.js' --include='*.svg' | grep -v '^http://www\.w3\.org$' || true)"
[ -z "$foreign" ] || { echo "the page names other hosts: $foreign" >&2; exit 1; }
echo "web: fine, node $(node --version)"
