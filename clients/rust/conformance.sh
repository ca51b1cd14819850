#!/usr/bin/env bash
# The conformance runner. usage: conformance.sh --cases FILE --server HOST:PORT
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v cargo >/dev/null || { echo "skipped: needs cargo >= 1.63"; exit 77; }
export CARGO_TARGET_DIR="${XDG_CACHE_HOME:-$HOME/.cache}/flightplan/clients/rust-target"
cargo fetch -q --offline --locked --target "$(rustc -vV | sed -n 's/^host: //p')" 2>/dev/null || { echo "skipped: needs its crates (deploy/setup_clients.sh rust)"; exit 77; }
exec cargo run -q --offline --locked --example conformance -- "$@"
