#!/usr/bin/env bash
# The protos: fresh, linted, formatted, compatible with the image of the last release, and in our style.
# With --update-image: make today's protos that image (when a release is cut).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../proto"

buf="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/buf-1.75.0/node_modules/.bin/buf"
[ -x "$buf" ] || { echo "buf is not there: run deploy/setup.sh" >&2; exit 1; }
image=flightplan-v1.image.binpb

if [ "${1:-}" = --update-image ]; then
  "$buf" build --exclude-source-info -o "$image"
  exit
fi
/usr/bin/python3 gen_knobs_proto.py --check
"$buf" lint
"$buf" format --diff --exit-code
"$buf" breaking --against "$image"
/usr/bin/python3 ../tests/style/proto_style_test.py "$buf"
